// SPDX-License-Identifier: Apache-2.0
/// What the two ends of a message link compute alike from its plan.
///
/// Elements travel in messages of whole units on one tag, without headers. The consumer has
/// `credits` receives of `slot_bytes` ready for each producer, a message uses up one of them
/// whatever its length, and the producer never has more messages on their way than that. So nothing
/// arrives unexpected: what a slow consumer holds is bounded by its slots, not by MPI's luck.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fluvial/stream/link.hpp"

namespace fluvial::stream {

struct MessageFlow {
    explicit MessageFlow(const LinkPlan& plan) {
        const std::size_t unit = std::max<std::size_t>(1, plan.unit_bytes);
        const auto units = [&](std::size_t bytes) { return bytes / unit * unit; };
        const std::size_t longest = std::max(unit, plan.piece_bytes_max);
        slot_bytes = std::max(longest, units(std::min(slot_bytes_wanted, plan.buffer_bytes / 4)));
        const std::size_t slots = std::max<std::size_t>(1, plan.buffer_bytes / slot_bytes);
        credits = static_cast<int>(std::min<std::size_t>(slots, credits_max));
        batches = static_cast<int>(std::min<std::size_t>(slots, batches_max));
        message_bytes =
            plan.same_host ? std::min(slot_bytes, std::max(unit, units(eager_bytes))) : slot_bytes;
    }

    std::size_t slot_bytes;     ///< of a receive at the consumer and a batch at the producer
    std::size_t message_bytes;  ///< a message is sent as soon as it is about that long
    int credits;                ///< receives for this producer
    int batches;                ///< at the producer
    /// The consumer returns that many credits at a time.
    int credits_back() const { return std::max(1, credits / 2); }

    static constexpr std::size_t slot_bytes_wanted = std::size_t{64} << 10;
    /// In shared memory both MPICH 5.0 and Open MPI 4.1 are at their best just below the length
    /// from which they no longer send eagerly (8 KiB and 4 KiB with headers).
    static constexpr std::size_t eager_bytes = 4000;
    static constexpr std::size_t credits_max = 8;
    static constexpr std::size_t batches_max = 4;
};

}  // namespace fluvial::stream
