// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "fluvial/store/unshuffle.inc"

namespace fluvial::store {

namespace {

struct Avx2 {
    using Register = __m256i;
    static Register load(const std::byte* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    static void unpack(int round, Register a, Register b, Register& low, Register& high) {
        low = round == 0   ? _mm256_unpacklo_epi8(a, b)
              : round == 1 ? _mm256_unpacklo_epi16(a, b)
                           : _mm256_unpacklo_epi32(a, b);
        high = round == 0   ? _mm256_unpackhi_epi8(a, b)
               : round == 1 ? _mm256_unpackhi_epi16(a, b)
                            : _mm256_unpackhi_epi32(a, b);
    }
    template <int E>
    static void store(const Register (&r)[E], std::byte* to) {
        auto* out = reinterpret_cast<__m256i*>(to);
        for (int i = 0; i < E; i += 2) {
            _mm256_storeu_si256(out + i / 2, _mm256_permute2x128_si256(r[i], r[i + 1], 0x20));
            _mm256_storeu_si256(out + (E + i) / 2, _mm256_permute2x128_si256(r[i], r[i + 1], 0x31));
        }
    }
};

}  // namespace

extern const Unshuffler unshuffler_avx2;
const Unshuffler unshuffler_avx2 = {"avx2", &run<Avx2>};

}  // namespace fluvial::store
