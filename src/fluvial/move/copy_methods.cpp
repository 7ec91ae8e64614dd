// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/copy_methods.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define FLUVIAL_NON_TEMPORAL
#include <immintrin.h>
#endif

namespace fluvial::move {
namespace {

void copy_cached(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

#ifdef FLUVIAL_NON_TEMPORAL

/// Whole cache lines go past the caches, what is before and after them does not.
#define FLUVIAL_STREAM_COPY(name, instructions, Register, load, store)                    \
    __attribute__((target(instructions))) void name(std::byte* to, const std::byte* from, \
                                                    std::size_t bytes) {                  \
        constexpr std::size_t line = 64;                                                  \
        const std::size_t before =                                                        \
            std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line); \
        std::memcpy(to, from, before);                                                    \
        std::size_t at = before;                                                          \
        for (; at + line <= bytes; at += line) {                                          \
            Register r[line / sizeof(Register)];                                          \
            for (std::size_t i = 0; i < line / sizeof(Register); ++i)                     \
                r[i] = load(reinterpret_cast<const Register*>(from + at) + i);            \
            for (std::size_t i = 0; i < line / sizeof(Register); ++i)                     \
                store(reinterpret_cast<Register*>(to + at) + i, r[i]);                    \
        }                                                                                 \
        std::memcpy(to + at, from + at, bytes - at);                                      \
        _mm_sfence();                                                                     \
    }

FLUVIAL_STREAM_COPY(copy_stream_sse2, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128)
FLUVIAL_STREAM_COPY(copy_stream_avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_stream_si256)
FLUVIAL_STREAM_COPY(copy_stream_avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512)

#undef FLUVIAL_STREAM_COPY
#endif

}  // namespace

const std::vector<CopyMethod>& copy_methods() {
    static const std::vector<CopyMethod> all = [] {
        std::vector<CopyMethod> found = {{"cached", &copy_cached}};
#ifdef FLUVIAL_NON_TEMPORAL
        found.push_back({"streamed, SSE2", &copy_stream_sse2});
        if (__builtin_cpu_supports("avx2")) {
            found.push_back({"streamed, AVX2", &copy_stream_avx2});
        }
        if (__builtin_cpu_supports("avx512f")) {
            found.push_back({"streamed, AVX-512", &copy_stream_avx512});
        }
#endif
        return found;
    }();
    return all;
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
    static const CopyMethod method =
        copy_methods()[std::min<std::size_t>(copy_methods().size() - 1, 1)];
    method.copy(to, from, bytes);
}

}  // namespace fluvial::move
