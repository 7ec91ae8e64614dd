// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/kernels/kernels.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

const TestSeed seed(20240611);
constexpr Index sizes[] = {0, 1, 7, 15, 16, 17, 31, 63, 64, 65, 100, 127, 1000, 4099};

template <class T>
std::vector<T> random_values(Index n) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(n));
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) {
        if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(random());
        } else {
            value = static_cast<T>(std::normal_distribution<double>(3, 100)(random));
        }
    }
    return values;
}

template <class F>
void for_real_types(F&& f) {
    for (int number = 0; number <= static_cast<int>(DType::Float64); ++number) {
        const DType dtype = dtype_from_number(number);
        if (dtype != DType::Float16) {
            dispatch(dtype, [&]<class T>() {
                if constexpr (std::is_arithmetic_v<T>) {
                    f.template operator()<T>(number);
                }
            });
        }
    }
}

bool same_bits(double a, double b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

Summary summary_of(void (*kernel)(const void* const*, Index, Index, unsigned, Summary&),
                   const void* x, Index n, unsigned parts) {
    Summary summary;
    kernel(&x, 1, n, parts, summary);
    return summary;
}

/// The values with the bytes of each reversed, one byte off any alignment.
template <class T>
struct Swapped {
    std::vector<std::byte> bytes;
    explicit Swapped(const std::vector<T>& x) : bytes(x.size() * sizeof(T) + 1) {
        const auto* from = reinterpret_cast<const std::byte*>(x.data());
        for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) {
            bytes[1 + i] = from[i ^ (sizeof(T) - 1)];
        }
    }
    const T* data() const { return reinterpret_cast<const T*>(bytes.data() + 1); }
};

template <class T>
void check_columns(bool (*kernel)(const T*, Index, Index, Index, unsigned, double*, T*, T*),
                   bool (*reference)(const T*, Index, Index, Index, unsigned, double*, T*, T*),
                   const T* x, const T* native, Index columns) {
    struct Found {
        std::vector<double> sum;
        std::vector<T> low, high;
        bool nan;
    };
    const auto run = [&](auto* columns_of, const T* values, unsigned parts) {
        const auto n = static_cast<std::size_t>(columns);
        Found f{std::vector<double>(n), std::vector<T>(n), std::vector<T>(n), false};
        f.nan =
            columns_of(values, 70, 11, columns, parts, f.sum.data(), f.low.data(), f.high.data());
        return f;
    };
    for (const unsigned parts : {1u, 2u, 3u}) {
        const Found a = run(kernel, x, parts), b = run(reference, native, parts);
        for (std::size_t i = 0; i < a.sum.size(); ++i) {
            if (parts & summary_sum) {
                CHECK(same_bits(a.sum[i], b.sum[i]));
            }
            if (parts & summary_bounds) {
                CHECK(a.low[i] == b.low[i]);
                CHECK(a.high[i] == b.high[i]);
            }
        }
        CHECK(((parts & summary_bounds) == 0 || a.nan == b.nan));
    }
}

}  // namespace

TEST_CASE("a summary agrees with a plain loop") {
    for_real_types([]<class T>(int number) {
        for (const Kernels* k : runnable_kernels()) {
            for (const Index n : sizes) {
                const auto x = random_values<T>(n);
                CAPTURE(k->isa);
                CAPTURE(number);
                CAPTURE(n);
                long double sum = 0, magnitude = 0;
                Int128 exact = 0;
                T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();
                for (const T v : x) {
                    sum += static_cast<long double>(v);
                    magnitude += std::abs(static_cast<long double>(v));
                    if constexpr (std::is_integral_v<T>) {
                        exact += v;
                    }
                    least = std::min(least, v);
                    most = std::max(most, v);
                }
                for (const unsigned parts : {1u, 2u, 3u}) {
                    Summary s;
                    s = summary_of(k->summary[false][number], x.data(), n, parts);
                    if ((parts & summary_sum) && std::is_integral_v<T>) {
                        CHECK((s.exact == exact));
                    } else if (parts & summary_sum) {
                        CHECK(std::abs(static_cast<double>(s.sum - sum)) <=
                              1e-14 * static_cast<double>(magnitude));
                    }
                    if ((parts & summary_bounds) && n > 0) {
                        CHECK(s.min.as<T>() == least);
                        CHECK(s.max.as<T>() == most);
                        CHECK(!s.nan);
                    }
                }
            }
        }
    });
}

TEST_CASE_TEMPLATE("a NaN is found wherever it is, and infinities are not taken for one", T, float,
                   double) {
    const int number = static_cast<int>(dtype_of<T>());
    const T infinity = std::numeric_limits<T>::infinity();
    for (const Kernels* k : runnable_kernels()) {
        CAPTURE(k->isa);
        for (const Index n : {1, 5, 64, 200}) {
            for (Index where = 0; where < n; ++where) {
                auto x = random_values<T>(n);
                x[static_cast<std::size_t>(where)] = std::numeric_limits<T>::quiet_NaN();
                for (const unsigned parts : {2u, 3u}) {
                    Summary s;
                    s = summary_of(k->summary[false][number], x.data(), n, parts);
                    CHECK(s.nan);
                }
            }
        }
        std::vector<T> x = random_values<T>(100);
        x[3] = infinity;
        x[90] = -infinity;
        for (const unsigned parts : {2u, 3u}) {
            Summary s;
            s = summary_of(k->summary[false][number], x.data(), 100, parts);
            CHECK(!s.nan);
            CHECK(s.max.as<T>() == infinity);
            CHECK(s.min.as<T>() == -infinity);
        }
    }
}

TEST_CASE("all instruction sets give the same bits") {
    const Kernels& reference = *runnable_kernels().front();
    for (const Kernels* k : runnable_kernels()) {
        CAPTURE(k->isa);
        for (const Index n : sizes) {
            CAPTURE(n);
            const auto x = random_values<float>(n);
            const auto y = random_values<double>(n), w = random_values<double>(n + 1);
            for (const unsigned parts : {1u, 3u}) {
                Summary a, b;
                a = summary_of(k->summary[false][static_cast<int>(DType::Float32)], x.data(), n,
                               parts);
                b = summary_of(reference.summary[false][static_cast<int>(DType::Float32)], x.data(),
                               n, parts);
                CHECK(same_bits(a.sum, b.sum));
                CHECK(same_bits(a.lost, b.lost));
                a = summary_of(k->summary[false][static_cast<int>(DType::Float64)], y.data(), n,
                               parts);
                b = summary_of(reference.summary[false][static_cast<int>(DType::Float64)], y.data(),
                               n, parts);
                CHECK(same_bits(a.sum, b.sum));
                CHECK(same_bits(a.lost, b.lost));
            }
            Summary a, b;
            a = summary_of(k->summary[false][static_cast<int>(DType::Complex64)], x.data(), n / 2,
                           summary_sum);
            b = summary_of(reference.summary[false][static_cast<int>(DType::Complex64)], x.data(),
                           n / 2, summary_sum);
            CHECK(same_bits(a.sum, b.sum));
            CHECK(same_bits(a.lost, b.lost));
            CHECK(same_bits(a.imag, b.imag));
            CHECK(same_bits(k->centred_float(x.data(), n, 0.3).second,
                            reference.centred_float(x.data(), n, 0.3).second));
            CHECK(same_bits(k->centred_weighted(y.data(), w.data(), n, 2.5).second,
                            reference.centred_weighted(y.data(), w.data(), n, 2.5).second));
        }
    }
}

TEST_CASE("swapped bytes give the same bits with every instruction set") {
    const Kernels& reference = *runnable_kernels().front();
    for_real_types([&]<class T>(int number) {
        for (const Kernels* k : runnable_kernels()) {
            CAPTURE(k->isa);
            CAPTURE(number);
            for (const Index n : sizes) {
                CAPTURE(n);
                const auto x = random_values<T>(n);
                const Swapped<T> swapped(x);
                for (const unsigned parts : {1u, 2u, 3u}) {
                    Summary a, b;
                    a = summary_of(k->summary[true][number], swapped.data(), n, parts);
                    b = summary_of(reference.summary[false][number], x.data(), n, parts);
                    CHECK(same_bits(a.sum, b.sum));
                    CHECK(same_bits(a.lost, b.lost));
                    CHECK((a.exact == b.exact));
                    CHECK((n == 0 || a.min.as<T>() == b.min.as<T>()));
                    CHECK((n == 0 || a.max.as<T>() == b.max.as<T>()));
                }
                std::vector<T> back(x.size());
                if (sizeof(T) > 1) {
                    const int log2 = sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
                    k->swap_bytes[log2](swapped.data(), n, back.data());
                    CHECK(back == x);
                }
                std::vector<double> wide(x.size()), plain(x.begin(), x.end());
                k->widen[true][number](swapped.data(), n, wide.data());
                CHECK(wide == plain);
                k->widen[false][number](x.data(), n, wide.data());
                CHECK(wide == plain);
                std::vector<float> single(x.size()), expected(x.size());
                k->unpack_float[true][number](swapped.data(), n, 0.1, 3, single.data());
                reference.unpack_float[false][number](x.data(), n, 0.1, 3, expected.data());
                CHECK(single == expected);
            }
        }
    });
}

TEST_CASE_TEMPLATE("swapped columns and complex numbers give the same bits too", T, float, double) {
    const Kernels& reference = *runnable_kernels().front();
    const int number = static_cast<int>(dtype_of<std::complex<T>>());
    for (const bool nan : {false, true}) {
        auto x = random_values<T>(770);
        x[333] = nan ? std::numeric_limits<T>::quiet_NaN() : x[333];
        const Swapped<T> swapped(x);
        for (const Kernels* k : runnable_kernels()) {
            CAPTURE(k->isa);
            for (const Index columns : {1, 4, 15, 16, 17, 63, 70}) {
                if constexpr (std::is_same_v<T, float>) {
                    check_columns(k->columns_float[true], reference.columns_float[false],
                                  swapped.data(), x.data(), columns);
                    CHECK(k->has_nan_float[true](swapped.data(), 770) == nan);
                } else {
                    check_columns(k->columns_double[true], reference.columns_double[false],
                                  swapped.data(), x.data(), columns);
                    CHECK(k->has_nan_double[true](swapped.data(), 770) == nan);
                }
                Summary a, b;
                a = summary_of(k->summary[true][number], swapped.data(), columns, summary_sum);
                b = summary_of(reference.summary[false][number], x.data(), columns, summary_sum);
                CHECK(same_bits(a.sum, b.sum));
                CHECK(same_bits(a.lost, b.lost));
                CHECK(same_bits(a.imag, b.imag));
            }
        }
    }
}

TEST_CASE("a summary of included elements is that of the others taken out") {
    const Kernels& reference = *runnable_kernels().front();
    std::mt19937 random(seed);
    for_real_types([&]<class T>(int number) {
        for (const Index n : sizes) {
            for (const bool drop_nan : {false, true}) {
                CAPTURE(number);
                CAPTURE(n);
                auto x = random_values<T>(n);
                std::vector<std::uint8_t> included(x.size());
                std::vector<T> kept;
                for (std::size_t i = 0; i < x.size(); ++i) {
                    included[i] = static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : random());
                    if (std::is_floating_point_v<T> && (drop_nan || included[i] == 0) &&
                        random() % 5 == 0) {
                        x[i] = std::numeric_limits<T>::quiet_NaN();
                    }
                    if (included[i] != 0 && x[i] == x[i]) {
                        kept.push_back(x[i]);
                    }
                }
                const auto count = static_cast<Index>(kept.size());
                const Summary expected =
                    summary_of(reference.summary[false][number], kept.data(), count, 3);
                Summary first;
                reference.summary_present[number](x.data(), included.data(), drop_nan, n, first);
                for (const Kernels* k : runnable_kernels()) {
                    CAPTURE(k->isa);
                    Summary s;
                    CHECK(k->summary_present[number](x.data(), included.data(), drop_nan, n, s) ==
                          count);
                    CHECK((s.exact == expected.exact));
                    CHECK(std::abs(s.sum - expected.sum) <= 1e-12 * static_cast<double>(n * 100));
                    CHECK(same_bits(s.sum, first.sum));
                    CHECK(!s.nan);
                    CHECK((count == 0 || s.min.as<T>() == expected.min.as<T>()));
                    CHECK((count == 0 || s.max.as<T>() == expected.max.as<T>()));
                }
                if (std::is_floating_point_v<T> && !drop_nan && n > 0 && included[0] != 0) {
                    x[0] = std::numeric_limits<T>::quiet_NaN();
                    Summary s;
                    reference.summary_present[number](x.data(), included.data(), false, n, s);
                    CHECK(s.nan);
                    CHECK(s.sum != s.sum);
                }
            }
        }
    });
}

TEST_CASE("float16 widens as the reference conversion does, for all 65536 values") {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<std::uint16_t>(i);
    }
    for (const Kernels* k : runnable_kernels()) {
        std::vector<float> wide(all.size());
        k->widen_half(all.data(), static_cast<Index>(all.size()), wide.data());
        int wrong = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            Half half;
            half.bits = all[i];
            const float expected = static_cast<float>(half);
            wrong += std::isnan(expected) ? !std::isnan(wide[i])
                                          : std::memcmp(&expected, &wide[i], 4) != 0;
        }
        CHECK(wrong == 0);
    }
}
