// SPDX-License-Identifier: Apache-2.0
/// The bare loops of the limit: one pass over float32 values as they lie in the file, arranged by
/// hand for the vector registers of the machine that compiles them. No code of Fluvial.
///
/// A Source hands out the values of four registers at a time; the order of the values in them does
/// not matter to any of these tasks. Sums are float64 in independent lanes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include <immintrin.h>

#if !defined(__AVX2__)
#error "the limit's loops are arranged for AVX2, with or without AVX-512; this CPU has neither"
#endif

namespace loops {

/// Eight floats: one AVX2 register. Wider ones gain nothing, for conversion to float64 is what
/// takes the time, and with AVX-512 one instruction converts these eight.
struct Register {
    using Floats = __m256;
    using Bytes = __m256i;
    static constexpr std::size_t kWidth = 8;
    static Bytes load(const std::byte* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    static Floats floats(Bytes bytes) { return _mm256_castsi256_ps(bytes); }
    static Bytes swap(Bytes bytes) {
        const __m256i order = _mm256_broadcastsi128_si256(
            _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
        return _mm256_shuffle_epi8(bytes, order);
    }
    static float least(Floats a) {
        alignas(32) float lanes[8];
        _mm256_store_ps(lanes, a);
        return *std::min_element(lanes, lanes + 8);
    }
    static float greatest(Floats a) {
        alignas(32) float lanes[8];
        _mm256_store_ps(lanes, a);
        return *std::max_element(lanes, lanes + 8);
    }
};

/// Eight float64 sums.
struct Sums {
#if defined(__AVX512F__)
    __m512d lanes = _mm512_setzero_pd();
    void add(__m256 values) { lanes = _mm512_add_pd(lanes, _mm512_cvtps_pd(values)); }
    double total() const {
        alignas(64) double all[8];
        _mm512_store_pd(all, lanes);
        return std::accumulate(all, all + 8, 0.0);
    }
#else
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    void add(__m256 values) {
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
    }
    double total() const {
        alignas(32) double all[8];
        _mm256_store_pd(all, low);
        _mm256_store_pd(all + 4, high);
        return std::accumulate(all, all + 8, 0.0);
    }
#endif
};

constexpr std::size_t kGroup = 4 * Register::kWidth;  // values a Source hands out at a time

/// Values one after another, in native or in the other byte order.
template <bool Swapped>
struct Contiguous {
    const std::byte* data;
    void group(std::size_t at, Register::Floats* to) const {
        for (std::size_t part = 0; part < 4; ++part) {
            const auto bytes = Register::load(data + 4 * (at + part * Register::kWidth));
            to[part] = Register::floats(Swapped ? Register::swap(bytes) : bytes);
        }
    }
    float one(std::size_t at) const {
        std::uint32_t bits;
        std::memcpy(&bits, data + 4 * at, 4);
        return std::bit_cast<float>(Swapped ? __builtin_bswap32(bits) : bits);
    }
};

/// Values whose first, second, third and fourth bytes lie in planes (HDF5's shuffle filter).
struct Shuffled {
    const std::byte* data;
    std::size_t plane;  // values, so bytes of a plane
    void group(std::size_t at, Register::Floats* to) const {
        const auto a = Register::load(data + at), b = Register::load(data + plane + at);
        const auto c = Register::load(data + 2 * plane + at),
                   d = Register::load(data + 3 * plane + at);
        const auto ab0 = _mm256_unpacklo_epi8(a, b), ab1 = _mm256_unpackhi_epi8(a, b);
        const auto cd0 = _mm256_unpacklo_epi8(c, d), cd1 = _mm256_unpackhi_epi8(c, d);
        to[0] = Register::floats(_mm256_unpacklo_epi16(ab0, cd0));
        to[1] = Register::floats(_mm256_unpackhi_epi16(ab0, cd0));
        to[2] = Register::floats(_mm256_unpacklo_epi16(ab1, cd1));
        to[3] = Register::floats(_mm256_unpackhi_epi16(ab1, cd1));
    }
    float one(std::size_t at) const {
        std::uint32_t bits = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) {
            bits |= static_cast<std::uint32_t>(data[byte * plane + at]) << (8 * byte);
        }
        return std::bit_cast<float>(bits);
    }
};

struct Summary {
    double sum = 0;
    float min = std::numeric_limits<float>::infinity();
    float max = -std::numeric_limits<float>::infinity();
};

/// Sum, least and greatest of everything absorbed. The lanes are put together at the end only, for
/// rows may be short.
template <bool WithExtremes>
class Summation {
  public:
    Summation() {
        std::fill(least_, least_ + 4, _mm256_set1_ps(rest_.min));
        std::fill(greatest_, greatest_ + 4, _mm256_set1_ps(rest_.max));
    }

    /// Values [at, at + count).
    template <class Source>
    void absorb(const Source& source, std::size_t at, std::size_t count) {
        Sums sums[8];
        Register::Floats least[4], greatest[4], values[8];
        std::copy(sums_, sums_ + 8, sums);
        std::copy(least_, least_ + 4, least);
        std::copy(greatest_, greatest_ + 4, greatest);
        const auto take = [&](std::size_t k) {
            if constexpr (WithExtremes) {
                least[k % 4] = _mm256_min_ps(least[k % 4], values[k]);
                greatest[k % 4] = _mm256_max_ps(greatest[k % 4], values[k]);
            }
            sums[k].add(values[k]);
        };
        const std::size_t end = at + count;
        for (; at + 2 * kGroup <= end; at += 2 * kGroup) {
            source.group(at, values);
            source.group(at + kGroup, values + 4);
            for (std::size_t k = 0; k < 8; ++k) {
                take(k);
            }
        }
        if (at + kGroup <= end) {
            source.group(at, values);
            for (std::size_t k = 0; k < 4; ++k) {
                take(k);
            }
            at += kGroup;
        }
        std::copy(sums, sums + 8, sums_);
        std::copy(least, least + 4, least_);
        std::copy(greatest, greatest + 4, greatest_);
        for (; at < end; ++at) {
            const float value = source.one(at);
            rest_.sum += value;
            if constexpr (WithExtremes) {
                rest_.min = std::min(rest_.min, value);
                rest_.max = std::max(rest_.max, value);
            }
        }
    }

    Summary result() const {
        Summary all = rest_;
        for (const Sums& sum : sums_) {
            all.sum += sum.total();
        }
        if constexpr (WithExtremes) {
            for (std::size_t k = 0; k < 4; ++k) {
                all.min = std::min(all.min, Register::least(least_[k]));
                all.max = std::max(all.max, Register::greatest(greatest_[k]));
            }
        }
        return all;
    }

  private:
    Sums sums_[8];
    Register::Floats least_[4], greatest_[4];
    Summary rest_;
};

/// Counts in equal bins of [low, high], with a table for each of 16 neighbours so that those in the
/// same bin do not wait for one another. float32 arithmetic, exact where (value - low) and the
/// scale are.
class Histogram {
  public:
    static constexpr int kStride = 128;  // entries of a table: the bins and the one outside
    static constexpr std::size_t kTables = 16;
    static constexpr std::size_t kAhead =
        512;  // values whose bins are found before they are counted

    Histogram(int bins, float low, float high)
        : bins_(bins), low_(low), high_(high), scale_(static_cast<float>(bins) / (high - low)) {}

    template <class Source>
    void absorb(const Source& source, std::size_t at, std::size_t count) {
        alignas(64) std::uint32_t places[kAhead];
        Register::Floats values[4];
        const std::size_t end = at + count;
        while (at + kGroup <= end) {
            const std::size_t now = std::min(kAhead, (end - at) / kGroup * kGroup);
            for (std::size_t k = 0; k < now; k += kGroup, at += kGroup) {
                source.group(at, values);
                find(values[0], values[1], places + k);
                find(values[2], values[3], places + k + kTables);
            }
            for (std::size_t k = 0; k < now; k += kTables) {
#pragma GCC unroll 16
                for (std::size_t i = 0; i < kTables; ++i) {
                    ++table_[places[k + i]];
                }
            }
        }
        for (; at < end; ++at) {
            const float value = source.one(at);
            if (value >= low_ && value <= high_) {
                ++table_[std::min(bins_ - 1, static_cast<int>((value - low_) * scale_))];
            }
        }
    }

    /// Adds the counts to `to` and starts anew; call before a table's 32 bits can overflow.
    void drain(std::uint64_t* to) {
        for (std::size_t table = 0; table < kTables; ++table) {
            for (int bin = 0; bin < bins_; ++bin) {
                to[bin] += table_[table * kStride + static_cast<std::size_t>(bin)];
            }
        }
        std::fill(std::begin(table_), std::end(table_), 0U);
    }

  private:
    /// Where in `table_` each of sixteen values counts: in its neighbour's table, its bin; those
    /// outside count in bin `bins_`.
    void find(__m256 a, __m256 b, std::uint32_t* to) const {
        const __m256i tables = _mm256_mullo_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0),
                                                  _mm256_set1_epi32(kStride));
        find(a, tables, to);
        find(b, _mm256_add_epi32(tables, _mm256_set1_epi32(8 * kStride)), to + 8);
    }
    void find(__m256 values, __m256i tables, std::uint32_t* to) const {
        const __m256 first = _mm256_set1_ps(low_);
        const __m256 inside =
            _mm256_and_ps(_mm256_cmp_ps(values, first, _CMP_GE_OQ),
                          _mm256_cmp_ps(values, _mm256_set1_ps(high_), _CMP_LE_OQ));
        const __m256 places = _mm256_mul_ps(_mm256_sub_ps(values, first), _mm256_set1_ps(scale_));
        const __m256i bin =
            _mm256_min_epi32(_mm256_cvttps_epi32(places), _mm256_set1_epi32(bins_ - 1));
        const __m256i found =
            _mm256_blendv_epi8(_mm256_set1_epi32(bins_), bin, _mm256_castps_si256(inside));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi32(found, tables));
    }

    int bins_;
    float low_, high_, scale_;
    alignas(64) std::uint32_t table_[kTables * kStride] = {};
};

}  // namespace loops
