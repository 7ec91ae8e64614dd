// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/unshuffle.hpp"

#include <algorithm>
#include <cstring>

#ifdef FLUVIAL_STORE_X86
#include <emmintrin.h>

#include "fluvial/store/unshuffle.inc"
#endif

namespace fluvial::store {

#ifdef FLUVIAL_STORE_X86
extern const Unshuffler unshuffler_avx2;
#endif

namespace {

#ifdef FLUVIAL_STORE_X86
struct Sse2 {
    using Register = __m128i;
    static Register load(const std::byte* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
    static void unpack(int round, Register a, Register b, Register& low, Register& high) {
        low = round == 0   ? _mm_unpacklo_epi8(a, b)
              : round == 1 ? _mm_unpacklo_epi16(a, b)
                           : _mm_unpacklo_epi32(a, b);
        high = round == 0   ? _mm_unpackhi_epi8(a, b)
               : round == 1 ? _mm_unpackhi_epi16(a, b)
                            : _mm_unpackhi_epi32(a, b);
    }
    template <int E>
    static void store(const Register (&r)[E], std::byte* to) {
        for (int i = 0; i < E; ++i) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + i, r[i]);
        }
    }
};
#endif

/// Elements [done, count), a tile at a time: what one pass over the tile writes is still in the L1
/// cache in the next.
void one_by_one(const std::byte* planes, std::size_t plane_bytes, std::size_t done,
                std::size_t count, std::size_t element_bytes, std::byte* elements) {
    constexpr std::size_t tile_bytes = 8192;
    const std::size_t tile = std::max<std::size_t>(1, tile_bytes / element_bytes);
    for (std::size_t first = done; first < count; first += tile) {
        const std::size_t end = std::min(count, first + tile);
        for (std::size_t byte = 0; byte < element_bytes; ++byte) {
            const std::byte* plane = planes + byte * plane_bytes;
            for (std::size_t i = first; i < end; ++i) {
                elements[i * element_bytes + byte] = plane[i];
            }
        }
    }
}

}  // namespace

const std::vector<Unshuffler>& unshufflers() {
    static const std::vector<Unshuffler> all = [] {
        std::vector<Unshuffler> found = {
            {"portable", [](const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) {
                 return std::size_t{0};
             }}};
#ifdef FLUVIAL_STORE_X86
        found.push_back({"sse2", &run<Sse2>});
        if (__builtin_cpu_supports("avx2")) {
            found.push_back(unshuffler_avx2);
        }
#endif
        return found;
    }();
    return all;
}

void unshuffle(std::span<const std::byte> planes, std::size_t element_bytes,
               std::span<std::byte> elements, const Unshuffler& by) {
    const std::size_t count = element_bytes > 1 ? planes.size() / element_bytes : 0;
    const std::size_t shuffled = count * element_bytes;
    if (count > 0) {
        const std::size_t done =
            by.run(planes.data(), count, count, element_bytes, elements.data());
        one_by_one(planes.data(), count, done, count, element_bytes, elements.data());
    }
    if (shuffled < planes.size()) {
        std::memcpy(elements.data() + shuffled, planes.data() + shuffled, planes.size() - shuffled);
    }
}

void unshuffle_part(std::span<const std::byte> planes, std::size_t element_bytes, std::size_t first,
                    std::size_t count, std::byte* elements) {
    const std::size_t plane_bytes = planes.size() / element_bytes;
    const std::byte* const from = planes.data() + first;
    const std::size_t done =
        unshufflers().back().run(from, plane_bytes, count, element_bytes, elements);
    one_by_one(from, plane_bytes, done, count, element_bytes, elements);
}

void unshuffle(std::span<const std::byte> planes, std::size_t element_bytes,
               std::span<std::byte> elements) {
    unshuffle(planes, element_bytes, elements, unshufflers().back());
}

}  // namespace fluvial::store
