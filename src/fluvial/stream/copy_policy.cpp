// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/copy_policy.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define FLUVIAL_NON_TEMPORAL
#include <immintrin.h>
#endif

namespace fluvial::stream {

namespace {

/// A trial of each method, and how often the clock is looked at between trials.
constexpr std::uint64_t trial_bytes = std::uint64_t{1} << 20;
constexpr std::int64_t rest_first_ns = 2'000'000;
constexpr std::int64_t rest_min_ns = 20'000'000;
constexpr std::int64_t rest_max_ns = 160'000'000;
/// The other method must be so much faster; it is broken off when it takes twice as long.
constexpr double gain = 0.9;
constexpr double patience = 2;
constexpr double patience_ns = 50'000;
constexpr std::int64_t gap_max_ns = 100'000;

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

CopyPolicy::CopyPolicy(std::vector<CopyMethod> methods, std::uint64_t lap_bytes,
                       std::int64_t (*clock_ns)())
    : methods_(std::move(methods)),
      lap_bytes_(lap_bytes),
      clock_ns_(clock_ns),
      chosen_(methods_.size() - 1),
      phase_bytes_(trial_bytes),
      rest_ns_(rest_first_ns) {}

void CopyPolicy::copy_timed(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t method = phase_ == Phase::Chosen ? chosen_ : 1 - chosen_;
    methods_[method].copy(to, from, bytes);
    const std::int64_t now = clock_ns_();
    spent_ns_ += std::min(now - last_ns_, gap_max_ns);
    last_ns_ = now;
    if (phase_ != Phase::Chosen) {
        const double expected = chosen_ns_per_byte_ * static_cast<double>(bytes_ + bytes);
        if (static_cast<double>(spent_ns_) > patience * expected + patience_ns) {
            rest(false);
        }
    }
}

void CopyPolicy::next_phase() {
    switch (phase_) {
        case Phase::Rest: {
            const bool due = methods_.size() == 2 && clock_ns_() >= rest_until_ns_;
            enter(due ? Phase::Chosen : Phase::Rest, trial_bytes);
            break;
        }
        case Phase::Chosen:
            chosen_ns_per_byte_ = static_cast<double>(spent_ns_) / static_cast<double>(bytes_);
            enter(Phase::Settle, lap_bytes_);
            break;
        case Phase::Settle:
            enter(Phase::Other, trial_bytes);
            break;
        case Phase::Other:
            rest(static_cast<double>(spent_ns_) <
                 gain * chosen_ns_per_byte_ * static_cast<double>(bytes_));
            break;
    }
}

void CopyPolicy::enter(Phase phase, std::uint64_t bytes) {
    phase_ = phase;
    phase_bytes_ = bytes;
    bytes_ = 0;
    spent_ns_ = 0;
    last_ns_ = clock_ns_();
}

void CopyPolicy::rest(bool changed) {
    chosen_ = changed ? 1 - chosen_ : chosen_;
    rest_ns_ = changed ? rest_min_ns : std::min(2 * rest_ns_, rest_max_ns);
    rest_until_ns_ = clock_ns_() + rest_ns_;
    enter(Phase::Rest, trial_bytes);
}

}  // namespace fluvial::stream
