// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/threshold.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::stream {

Threshold::Threshold(progress::ControlMessages& control, int number, const Parties& parties,
                     ThresholdRule rule)
    : control_(control), number_(number), parties_(parties), rule_(std::move(rule)) {}

void Threshold::handle(progress::ControlMessages& control,
                       const std::function<bool(const progress::ControlMessage&)>& taker) {
    for (const progress::Topic topic : {topic_contribution, topic_verdict}) {
        control.on(topic, taker);
    }
}

void Threshold::post(int to, progress::Topic topic, const Heading& heading,
                     std::span<const std::byte> value) {
    ByteWriter out;
    out.put(heading);
    out.append(value.data(), value.size());
    control_.post(to, topic, number_, out.view());
}

std::uint64_t Threshold::contribute(std::span<const std::byte> value) {
    if (broken_off_) {
        return *std::exchange(broken_off_, std::nullopt);
    }
    post(parties_.consumer, topic_contribution, {contributed_, 0, 1, 0}, value);
    return contributed_++;
}

void Threshold::retire() {
    if (parties_.consumer < 0 || std::exchange(retired_, true)) {
        return;
    }
    post(parties_.consumer, topic_contribution, {contributed_, 0, 0, 0});
}

std::optional<bool> Threshold::verdict(std::uint64_t round) {
    const auto found = verdicts_.find(round);
    if (found == verdicts_.end()) {
        return std::nullopt;
    }
    const bool verdict = found->second;
    verdicts_.erase(found);
    return verdict;
}

void Threshold::take(const progress::ControlMessage& message) {
    const auto heading = ByteReader(message.bytes).get<Heading>();
    if (message.topic == topic_contribution) {
        const auto value = std::span(message.bytes).subspan(sizeof heading);
        if (heading.count == 0 && heading.forward == 0) {
            advance();  // what came before
            post(parties_.first_consumer, topic_contribution, {heading.round, ++forwards_, 0, 0});
        } else if (heading.count == 0) {
            ends_.push_back(heading.round);
            complete();
            check_certain();
        } else if (heading.forward == 0) {
            gather(heading.round, message.from, value);
        } else {
            judge(heading, message.from, value);
        }
        return;
    }
    if (heading.forward == 0) {
        verdicts_[heading.round] = heading.verdict != 0;
        return;
    }
    const auto forwarded = forwarded_.extract(heading.forward);
    for (const int producer : forwarded.mapped()) {
        post(producer, topic_verdict, {heading.round, 0, 0, heading.verdict});
    }
}

void Threshold::gather(std::uint64_t round, int producer, std::span<const std::byte> value) {
    Gathered& gathered = gathered_[round];
    if (gathered.producers.empty()) {
        gathered.merged.assign(value.begin(), value.end());
    } else {
        gathered.merged = rule_.merge(std::move(gathered.merged), value);
    }
    gathered.producers.push_back(producer);
}

bool Threshold::advance() {
    if (gathered_.empty()) {
        return false;
    }
    for (auto& [round, gathered] : std::exchange(gathered_, {})) {
        const auto count = static_cast<std::int32_t>(gathered.producers.size());
        forwarded_[++forwards_] = gathered.producers;
        post(parties_.first_consumer, topic_contribution, {round, forwards_, count, 0},
             gathered.merged);
    }
    return true;
}

void Threshold::judge(const Heading& heading, int consumer, std::span<const std::byte> merged) {
    Round& round = rounds_[heading.round];
    round.waiting.push_back({consumer, heading.forward});
    const bool first = std::exchange(round.count, round.count + heading.count) == 0;
    if (round.verdict) {
        late_ += static_cast<std::uint64_t>(heading.count);
    } else {
        round.verdict = verdict_on(round, merged, first);
        if (round.count == parties_.producers) {
            round.verdict = round.verdict.value_or(false);
        }
    }
    if (heading.round - completed_ < rule_.rounds_ahead && round.verdict) {
        reply(heading.round, round);
    }
    complete();
    check_certain();
}

std::optional<bool> Threshold::verdict_on(Round& round, std::span<const std::byte> merged,
                                          bool first) const {
    if (rule_.begin_round) {
        if (first) {
            round.judge = rule_.begin_round();
        }
        return round.judge->take(merged);
    }
    if (first) {
        round.merged.assign(merged.begin(), merged.end());
    } else {
        round.merged = rule_.merge(std::move(round.merged), merged);
    }
    return rule_.judge(round.merged, round.count, parties_.producers);
}

bool Threshold::is_complete(std::uint64_t number, const Round& round) const {
    const auto retired =
        std::count_if(ends_.begin(), ends_.end(), [&](std::uint64_t end) { return end <= number; });
    return round.count + retired == parties_.producers;
}

/// A rank that waits for a verdict that cannot come any more must be told of it.
void Threshold::check_certain() const {
    if (ends_.empty()) {
        return;
    }
    for (const auto& [number, round] : rounds_) {
        if (round.verdict || !is_complete(number, round)) {
            continue;
        }
        throw InvalidArgument(
            Problem{"a producer closes the channel while others wait for its contribution",
                    text("round ", number, " has ", round.count, " of ", parties_.producers,
                         " contributions"),
                    "as many contributions of each producer as there are rounds", ""});
    }
}

/// Forgets the rounds to which all have contributed, and answers producers that were too far ahead.
/// Each producer contributes to one round after the other, so these are complete in their order.
void Threshold::complete() {
    while (!rounds_.empty() && rounds_.begin()->first == completed_ &&
           rounds_.begin()->second.verdict && is_complete(completed_, rounds_.begin()->second)) {
        rounds_.erase(rounds_.begin());
        const auto ahead = rounds_.find(completed_ + rule_.rounds_ahead);
        if (ahead != rounds_.end() && ahead->second.verdict) {
            reply(ahead->first, ahead->second);
        }
        ++completed_;
    }
}

void Threshold::reply(std::uint64_t number, Round& round) {
    for (const Forward& forward : std::exchange(round.waiting, {})) {
        post(forward.consumer, topic_verdict, {number, forward.number, 0, *round.verdict ? 1 : 0});
    }
}

}  // namespace fluvial::stream
