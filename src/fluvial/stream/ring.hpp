// SPDX-License-Identifier: Apache-2.0
/// A ring of bytes in shared memory, from one producer to one consumer.
///
/// Counts of bytes never go back: what was committed, what was released. The producer fills the
/// memory in laps from its start. A lap ends where the producer chooses, at the end of the memory
/// at the latest, so units are never torn, whatever their size, and nothing is padded; while the
/// consumer keeps up, laps stay short and the ring in the caches, however large it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace fluvial::stream {

/// Bytes of a ring that is in use while the consumer keeps up: half of a common second-level cache.
inline constexpr std::size_t ring_window_bytes = std::size_t{512} << 10;

/// The control block in front of the elements. What the two sides write is 128 bytes apart, since
/// processors fetch pairs of cache lines.
struct RingControl {
    static constexpr std::uint64_t open = std::numeric_limits<std::uint64_t>::max();

    alignas(64) std::atomic<std::uint64_t> committed{0};
    std::atomic<std::uint64_t> lap_start{0};  ///< committed when the newest lap began; stored
                                              ///< before anything of that lap is committed
    std::atomic<std::uint64_t> end{open};     ///< committed in all, once the producer has closed
    std::byte gap[128 - 3 * 8];
    std::atomic<std::uint64_t> released{0};
    std::uint64_t capacity;
    std::byte rest[128 - 2 * 8];

    std::byte* elements() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(RingControl) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace fluvial::stream
