// SPDX-License-Identifier: Apache-2.0
/// A verdict on what the producers of a channel contribute, without waiting for the slowest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fluvial/base/movable.hpp"
#include "fluvial/stream/channel.hpp"
#include "fluvial/stream/threshold.hpp"

namespace fluvial::stream {

/// Rounds follow each other: every producer contributes once to each, at its own pace, and gets the
/// same verdict as all others of that round, whether it comes before or after it. Contributions
/// that come after the verdict are dropped and counted. A producer that is
/// ThresholdRule::rounds_ahead rounds ahead of the slowest one waits for it, so that what is kept
/// is bounded.
///
/// Consumers do their part in whatever they wait for in the channel (operate(), close(),
/// progress()).
///
///     auto converged = ThresholdCollective::sum_over(channel, 1e-3);
///     while (converged.contribute(residual)) { … }
class ThresholdCollective {
  public:
    /// True as soon as the sum of the contributions exceeds `limit`, false when all have come and
    /// it does not. They must not be negative: contribute() throws InvalidArgument.
    /// Collective over the members of `channel`, blocking, as the other constructor. Throws
    /// InvalidArgument on all ranks when `limit` is not a number or `rounds_ahead` 0 on any, and
    /// when ranks differ in them.
    static ThresholdCollective sum_over(Channel& channel, double limit,
                                        std::uint64_t rounds_ahead = 1024);
    /// Any rule. What its functions throw ends the channel on all ranks. Throws InvalidArgument on
    /// all ranks for a rule without functions, and when ranks differ in rounds_ahead or consumers
    /// in what they declare of the functions.
    ThresholdCollective(Channel& channel, ThresholdRule rule);

    /// This producer's value of the next round, as bytes that the rule's merge takes; returns that
    /// round's verdict. Blocking until it is certain; three messages one after the other, there and
    /// back. Throws InvalidArgument on ranks that do not produce, and on all ranks when a producer
    /// closes the channel whose value is wanted for the verdict. After TimedOut a further call
    /// waits for the same round, to which this rank has contributed already. Of sum_over: the bytes
    /// of a double, which are checked as below.
    bool contribute(std::span<const std::byte> value);
    /// The same for sum_over. Throws InvalidArgument for a negative value and for NaN.
    bool contribute(double value);

    /// On the first consumer: contributions that came after their verdict, in all rounds so far.
    std::uint64_t late() const { return protocol_ ? protocol_->late() : 0; }

    const std::shared_ptr<ChannelState>& channel() const { return channel_.shared(); }

  private:
    ThresholdCollective(Channel& channel, ThresholdRule rule, std::optional<double> limit);

    Movable<ChannelState> channel_;
    bool sums_;  ///< made by sum_over
    std::shared_ptr<Threshold> protocol_;
};

}  // namespace fluvial::stream
