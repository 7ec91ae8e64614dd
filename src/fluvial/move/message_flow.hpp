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

#include "fluvial/base/error.hpp"
#include "fluvial/move/link.hpp"

namespace fluvial::move {

/// Elements of stream n travel on this tag plus n, the credits for them on credit_tag plus n.
inline constexpr int data_tag = 2;
static_assert(data_tag > progress::control_tag);
inline constexpr int credit_tag = 8192;
inline constexpr int streams_max = credit_tag - data_tag;

/// Throws InvalidArgument when there are no tags left for this stream.
inline void check_tags(const LinkPlan& plan) {
    if (plan.stream < streams_max) {
        return;
    }
    throw InvalidArgument(Problem{"too many streams in a channel", text(plan.stream + 1),
                                  text("up to ", streams_max, " where elements go by messages"),
                                  "Open another channel for the rest"});
}

/// The memory of each end of a link, unless users say otherwise.
inline constexpr std::size_t near_link_bytes = std::size_t{2} << 20;
inline constexpr std::size_t far_link_bytes = std::size_t{512} << 10;

struct MessageFlow {
    explicit MessageFlow(const LinkPlan& plan) {
        const std::size_t unit = std::max<std::size_t>(1, plan.unit_bytes);
        const auto units = [&](std::size_t bytes) { return bytes / unit * unit; };
        const std::size_t longest = std::max(unit, plan.piece_bytes_max);
        fetched = plan.same_host && plan.buffer_bytes / slots_wanted >= near_fetched_bytes;
        const std::size_t wanted = !plan.same_host ? far_message_bytes
                                   : fetched       ? near_message_bytes
                                                   : near_eager_bytes;
        direct_bytes = !plan.same_host ? far_direct_bytes
                       : fetched       ? near_direct_bytes
                                       : near_eager_direct_bytes;
        const auto links = static_cast<std::size_t>(std::max(1, plan.links));
        const std::size_t in_use =
            fetched ? std::clamp(fetched_in_use_bytes / links, slots_wanted * near_fetched_bytes,
                                 plan.buffer_bytes)
                    : plan.buffer_bytes;
        slot_bytes = longest >= direct_bytes
                         ? longest
                         : std::max(longest, units(std::min(wanted, in_use / slots_wanted)));
        const std::size_t slots = std::max<std::size_t>(1, plan.buffer_bytes / slot_bytes);
        std::size_t posted =
            fetched ? fetched_in_use_bytes / links / slot_bytes : posted_max / links;
        if (fetched && longest >= near_long_bytes) {
            posted = std::min(
                posted, std::max(arrivals_in_use_bytes / links / slot_bytes, arrivals_posted_min));
        }
        credits = static_cast<int>(std::min({slots, credits_max, std::max(credits_min, posted)}));
        const std::size_t at_work = fetched ? in_use : other_batch_bytes;
        batches = static_cast<int>(std::min(slots, std::max(batches_min, at_work / slot_bytes)));
    }

    std::size_t slot_bytes;  ///< of a receive at the consumer and a batch at the producer
    int credits;             ///< receives for this producer
    int batches;             ///< at the producer
    /// From batch to batch: each begins at a cache line.
    std::size_t batch_stride() const { return (slot_bytes + 63) / 64 * 64; }
    bool fetched;  ///< the consumer's core reads the batches themselves
    /// Units from this size on are sent from where they lie, a message each.
    std::size_t direct_bytes;
    /// The consumer returns that many credits at a time.
    int credits_back() const { return std::clamp(credits / 2, 1, 16); }

    /// Below, a message for each costs more than the copy. A network takes about a microsecond a
    /// message, in which a core copies tens of KiB.
    static constexpr std::size_t far_direct_bytes = std::size_t{32} << 10;
    /// Inside a host the receiver fetches long messages out of the sender's memory, with MPICH 5.0
    /// and Open MPI 4.1. What that costs a message and a page is little for long messages out of
    /// large pages, which users' memory seldom has. So a copy into such memory pays for all
    /// elements that fit in: the producer's core makes it while the consumer's fetches.
    static constexpr std::size_t near_message_bytes = std::size_t{256} << 10;
    static constexpr std::size_t near_direct_bytes = near_message_bytes + 1;
    /// Shorter ones are fetched more slowly than others are copied twice, which are at their best
    /// just below the length from which MPI no longer sends eagerly (4 KiB with headers).
    static constexpr std::size_t near_fetched_bytes = std::size_t{64} << 10;
    static constexpr std::size_t near_eager_bytes = 4000;
    static constexpr std::size_t near_eager_direct_bytes = 8192;
    /// For all links into a consumer: some times its caches, whose lines are slow to write again.
    static constexpr std::size_t fetched_in_use_bytes = std::size_t{4} << 20;
    /// Long elements arrive in memory that the consumer's core alone writes and reads: it had
    /// better stay in that core's cache. (Of short ones many may leave one by one.)
    static constexpr std::size_t near_long_bytes = std::size_t{32} << 10;
    static constexpr std::size_t arrivals_in_use_bytes = std::size_t{1} << 20;
    static constexpr std::size_t arrivals_posted_min = 4;
    static constexpr std::size_t far_message_bytes = std::size_t{64} << 10;
    static constexpr std::size_t slots_wanted = 4;
    static constexpr std::size_t credits_min = 2;
    static constexpr std::size_t credits_max = 64;
    /// For all links into a consumer; networks match longer lists of receives in software.
    static constexpr std::size_t posted_max = 512;
    static constexpr std::size_t batches_min = 4;
    static constexpr std::size_t other_batch_bytes = std::size_t{256} << 10;
};

}  // namespace fluvial::move
