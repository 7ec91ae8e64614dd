// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/staging_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fluvial/base/clock.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fluvial::stage {

void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    const std::size_t head =
        std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; done + line <= bytes; done += line) {
        const auto* source = reinterpret_cast<const __m128i*>(from + done);
        auto* target = reinterpret_cast<__m128i*>(to + done);
        // The four stores of a line stand together, so that it leaves the core as one.
        const __m128i a = _mm_loadu_si128(source);
        const __m128i b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2);
        const __m128i d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    std::memcpy(to + done, from + done, bytes - done);
    // Such stores are not ordered by the release of the step.
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);
#endif
}

void StagingCopy::operator()(const ArrayView& from, const MutableArrayView& to) {
    const std::size_t bytes = static_cast<std::size_t>(from.size()) * size_of(from.dtype);
    const bool plain = from.dtype == to.dtype && from.extent == to.extent && from.is_contiguous() &&
                       to.strides == contiguous_strides(to.extent, size_of(to.dtype));
    if (!plain || bytes < never_streamed_below) {
        copy(from, to);
        return;
    }
    if (bytes < always_streamed_from) {
        const int left = streamed_left_.load(std::memory_order_relaxed);
        if (left == 0) {
            const std::int64_t begin_ns = now_ns();
            copy(from, to);
            const auto elapsed_ns = static_cast<double>(now_ns() - begin_ns);
            if (static_cast<double>(bytes) < slow_bytes_per_ns * elapsed_ns) {
                streamed_left_.store(streamed_between_trials, std::memory_order_relaxed);
            }
            return;
        }
        streamed_left_.store(left - 1, std::memory_order_relaxed);
    }
    copy_streaming(to.data, from.data, bytes);
}

}  // namespace fluvial::stage
