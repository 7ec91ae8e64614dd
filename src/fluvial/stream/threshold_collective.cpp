// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/threshold_collective.hpp"

#include <cstring>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stream/channel_state.hpp"

namespace fluvial::stream {

namespace {

double number_in(std::span<const std::byte> bytes) {
    return ByteReader(bytes).get<double>();
}

std::vector<std::byte> bytes_of(double number) {
    std::vector<std::byte> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

void check_summand(double value) {
    if (!(value >= 0)) {
        throw InvalidArgument(
            Problem{"a contribution is negative or not a number", text(value),
                    "0 or more, so that a sum over the limit stays over it",
                    "Contribute its absolute value, or attach a rule of your own"});
    }
}

void check_summand(std::span<const std::byte> value) {
    if (value.size() != sizeof(double)) {
        throw InvalidArgument(Problem{"a contribution to a sum is no number",
                                      text(value.size(), " bytes"),
                                      text("the ", sizeof(double), " bytes of a double"),
                                      "Contribute a double, or attach a rule of your own"});
    }
    check_summand(number_in(value));
}

}  // namespace

ThresholdCollective ThresholdCollective::sum_over(Channel& channel, double limit,
                                                  std::uint64_t rounds_ahead) {
    ThresholdRule rule;
    rule.merge = [](std::vector<std::byte> a, std::span<const std::byte> b) {
        return bytes_of(number_in(a) + number_in(b));
    };
    rule.judge = [limit](std::span<const std::byte> sum, int, int) -> std::optional<bool> {
        if (number_in(sum) > limit) {
            return true;
        }
        return std::nullopt;
    };
    rule.rounds_ahead = rounds_ahead;
    return {channel, std::move(rule), limit};
}

ThresholdCollective::ThresholdCollective(Channel& channel, ThresholdRule rule)
    : ThresholdCollective(channel, std::move(rule), std::nullopt) {}

ThresholdCollective::ThresholdCollective(Channel& channel, ThresholdRule rule,
                                         std::optional<double> limit)
    : channel_(channel.state()), sums_(limit.has_value()) {
    ChannelState& state = *channel_;
    state.check_usable();
    const auto check_all = [&, ahead = rule.rounds_ahead,
                            complete = rule.merge && (rule.judge || rule.begin_round)] {
        if (ahead == 0) {
            throw InvalidArgument(Problem{"rounds_ahead is out of range", "0", "1 or more", ""});
        }
        if (!complete) {
            throw InvalidArgument(Problem{"a function of a threshold collective is missing",
                                          "an empty function", "merge, and judge or begin_round",
                                          ""});
        }
        if (limit && *limit != *limit) {
            throw InvalidArgument(Problem{"the limit of a threshold collective is no number",
                                          text(*limit), "any number", ""});
        }
    };
    const auto say = [&, ahead = rule.rounds_ahead, declared = rule.declared](Terms& terms) {
        terms.add("rounds_ahead of a threshold collective", text(ahead));
        if (limit) {
            terms.add("the limit of a threshold collective", exact(*limit));
        }
        if (!limit && consumes(state.members[static_cast<std::size_t>(state.rank)].role)) {
            terms.add_where_known("the functions of a threshold collective", declared,
                                  "Give every consumer the same merge and judge: functions are "
                                  "known by their name and version");
        }
    };
    if (!state.takes_part()) {
        check_all();
        return;
    }
    const ChannelState::Together together = state.begin_together(Collective::BeginThreshold);
    const Threshold::Parties parties{
        .consumer = state.consumer_of[static_cast<std::size_t>(state.rank)],
        .first_consumer = state.first_consumer(),
        .producers = static_cast<int>(state.producers.size())};
    const int number = static_cast<int>(state.thresholds.size());
    protocol_ = std::make_shared<Threshold>(*state.control, number, parties, std::move(rule));
    state.thresholds.push_back(protocol_);  // before any rank has agreed, and so may contribute
    try {
        mpi::agree_on(state.comm, check_all, say);
    } catch (...) {
        state.thresholds.pop_back();
        throw;
    }
}

bool ThresholdCollective::contribute(std::span<const std::byte> value) {
    ChannelState& state = *channel_;
    state.check_usable();
    if (!state.takes_part() ||
        !produces(state.members[static_cast<std::size_t>(state.rank)].role)) {
        throw InvalidArgument(Problem{"a rank that does not produce contributes to a collective",
                                      text("rank ", state.rank), "producers", ""});
    }
    if (sums_) {
        check_summand(value);
    }
    const progress::Served::Inside inside(state.served);
    const std::uint64_t round = protocol_->contribute(value);
    std::optional<bool> verdict;
    const Trace::Span span(state.trace.events.get(), Activity::Threshold, -1);
    try {
        state.wait("reach the verdict of a threshold collective", [&] {
            verdict = protocol_->verdict(round);
            return verdict.has_value();
        });
    } catch (...) {
        protocol_->break_off(round);
        throw;
    }
    return *verdict;
}

bool ThresholdCollective::contribute(double value) {
    check_summand(value);
    return contribute(std::as_bytes(std::span(&value, 1)));
}

}  // namespace fluvial::stream
