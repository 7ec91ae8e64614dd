// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/threshold.hpp"

#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::stream {

Threshold::Threshold(Mailbox& mailbox, int number, const Parties& parties, ThresholdRule rule)
    : mailbox_(mailbox), number_(number), parties_(parties), rule_(std::move(rule)) {}

void Threshold::post(int to, MailKind kind, const Heading& heading,
                     std::span<const std::byte> value) {
    ByteWriter out;
    out.put(heading);
    out.append(value.data(), value.size());
    mailbox_.post(to, kind, number_, out.view());
}

std::uint64_t Threshold::contribute(std::span<const std::byte> value) {
    post(parties_.consumer, MailKind::Contribution, {contributed_, 0, 1, 0}, value);
    return contributed_++;
}

std::optional<bool> Threshold::verdict(std::uint64_t round) {
    const auto found = verdicts_.find(round);
    if (found == verdicts_.end()) return std::nullopt;
    const bool verdict = found->second;
    verdicts_.erase(found);
    return verdict;
}

void Threshold::take(const Mail& mail) {
    const auto heading = ByteReader(mail.bytes).get<Heading>();
    if (mail.kind == MailKind::Contribution) {
        const auto value = std::span(mail.bytes).subspan(sizeof heading);
        if (heading.forward == 0) {
            gather(heading.round, mail.from, value);
        } else {
            judge(heading, mail.from, value);
        }
        return;
    }
    if (heading.forward == 0) {
        verdicts_[heading.round] = heading.verdict != 0;
        return;
    }
    const auto forwarded = forwarded_.extract(heading.forward);
    for (const int producer : forwarded.mapped()) {
        post(producer, MailKind::Verdict, {heading.round, 0, 0, heading.verdict});
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
    if (gathered_.empty()) return false;
    for (auto& [round, gathered] : std::exchange(gathered_, {})) {
        const auto count = static_cast<std::int32_t>(gathered.producers.size());
        forwarded_[++forwards_] = gathered.producers;
        post(parties_.first_consumer, MailKind::Contribution, {round, forwards_, count, 0},
             gathered.merged);
    }
    return true;
}

void Threshold::judge(const Heading& heading, int consumer, std::span<const std::byte> merged) {
    Round& round = rounds_[heading.round];
    round.waiting.push_back({consumer, heading.forward});
    const bool first = round.count == 0;
    round.count += heading.count;
    if (round.verdict) {
        late_ += static_cast<std::uint64_t>(heading.count);
    } else {
        if (first) {
            round.merged.assign(merged.begin(), merged.end());
        } else {
            round.merged = rule_.merge(std::move(round.merged), merged);
        }
        round.verdict = rule_.judge(round.merged, round.count, parties_.producers);
        if (round.count == parties_.producers) round.verdict = round.verdict.value_or(false);
    }
    if (heading.round < completed_ + rule_.rounds_ahead && round.verdict) {
        reply(heading.round, round);
    }
    complete();
}

/// Forgets the rounds that all have contributed to, and lets go those that were too far ahead. Each
/// producer contributes to one round after the other, so these are complete in their order.
void Threshold::complete() {
    while (!rounds_.empty() && rounds_.begin()->first == completed_ &&
           rounds_.begin()->second.count == parties_.producers) {
        rounds_.erase(rounds_.begin());
        const auto ahead = rounds_.find(completed_ + rule_.rounds_ahead);
        if (ahead != rounds_.end() && ahead->second.verdict) reply(ahead->first, ahead->second);
        ++completed_;
    }
}

void Threshold::reply(std::uint64_t number, Round& round) {
    for (const Forward& forward : std::exchange(round.waiting, {})) {
        post(forward.consumer, MailKind::Verdict,
             {number, forward.number, 0, *round.verdict ? 1 : 0});
    }
}

}  // namespace fluvial::stream
