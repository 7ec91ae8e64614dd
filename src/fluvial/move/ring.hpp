// SPDX-License-Identifier: Apache-2.0
/// A ring of bytes in shared memory, from one producer to one consumer.
///
/// Counts of bytes never go back: what was committed, what was released. The producer fills the
/// memory in laps from its start. A lap ends where the producer chooses, at the end of the memory
/// at the latest, so units are never torn, whatever their size, and nothing is padded; while the
/// consumer keeps up, laps stay short and the ring in the caches, however large it is.
///
/// Small elements are written into the staging buffer, a few KiB that stay in the producer's cache,
/// and copied into the ring together: a cache line that the consumer has read last costs up to 0.25
/// us to write. A consumer that finds the ring empty looks over the producer's shoulder: it copies
/// what lies in the staging buffer for itself. So no element waits for others to come.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "fluvial/move/link.hpp"

namespace fluvial::move {

/// Bytes of all rings into a consumer that are in use while it keeps up. Several times a
/// second-level cache: lines that have left the consumer's are written again at three times the
/// speed. More than fits into the next cache would cost as much, so rings share it, but only those
/// whose producers run at the same time.
inline constexpr std::size_t ring_window_bytes = std::size_t{4} << 20;
inline constexpr std::size_t ring_window_least = std::size_t{64} << 10;
inline constexpr std::size_t ring_staging_bytes = std::size_t{16} << 10;

/// The control block in front of the staging buffer and the elements. What is written by different
/// sides, or at different times, is 128 bytes apart, since processors fetch pairs of cache lines.
struct RingControl {
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    /// Committed, and in the ring itself.
    alignas(64) std::atomic<std::uint64_t> placed{0};
    /// `placed` when the newest lap began; stored before anything of that lap.
    std::atomic<std::uint64_t> lap_start{0};
    /// Committed in all, once the producer has closed; before, none.
    std::atomic<std::uint64_t> end{none};
    std::byte gap_1[128 - 3 * 8];

    /// Committed, in the staging buffer at least; behind `placed` while the staging buffer is not
    /// used.
    std::atomic<std::uint64_t> committed{0};
    /// The count of the first byte of the staging buffer; none while it is being cleared.
    std::atomic<std::uint64_t> staging_start{none};
    std::byte gap_2[128 - 2 * 8];

    std::atomic<std::uint64_t> released{0};
    std::uint64_t capacity = 0;
    std::byte gap_3[128 - 2 * 8];

    std::byte* staging() { return reinterpret_cast<std::byte*>(this + 1); }
    std::byte* elements() { return staging() + ring_staging_bytes; }
};
static_assert(sizeof(RingControl) == 3 * 128);

/// One ring's share of ring_window_bytes.
inline std::size_t ring_window(const LinkPlan& plan, std::size_t capacity) {
    const double share = static_cast<double>(ring_window_bytes) / std::max(1.0, plan.writers);
    return std::min(capacity, std::max(static_cast<std::size_t>(share), ring_window_least));
}
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace fluvial::move
