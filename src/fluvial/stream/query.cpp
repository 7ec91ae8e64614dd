// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/query.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::stream {

namespace {

/// Requests of one producer under way.
constexpr std::size_t under_way_max = 16;

/// The message of a request, or of a round between consumers.
std::vector<std::byte> numbered(std::uint64_t number) {
    ByteWriter out;
    out.put(number);
    return out.take();
}

std::vector<std::byte> encode_result(bool partial, std::uint64_t number, const Outcome& outcome) {
    ByteWriter out;
    out.put(number);
    out.put(partial);
    out.put_vector(encode_outcome(outcome));
    return out.take();
}

Outcome so_far(const Query::State& state) {
    return {state.elements,
            state.operation != nullptr ? state.operation->partial() : std::vector<std::byte>()};
}

}  // namespace

Query::Query(progress::ControlMessages& control, int stream, std::vector<int> consumers, int rank)
    : control_(control), stream_(stream), consumers_(std::move(consumers)), rank_(rank) {}

std::uint64_t Query::ask() {
    const std::uint64_t number = asked_count_++;
    asked_[number];
    if (together_.size() < under_way_max) {
        send({number});
    } else {
        held_.push_back(number);
    }
    return number;
}

void Query::send(std::vector<std::uint64_t> together) {
    const std::uint64_t number = together.back();
    control_.post(consumers_.front(), topic_query, stream_, numbered(number));
    together_[number] = std::move(together);
}

const Outcome* Query::result(std::uint64_t number) const {
    const auto& result = asked_.at(number).result;
    return result ? &*result : nullptr;
}

void Query::forget(std::uint64_t number) {
    Asked& asked = asked_.at(number);
    asked.forgotten = true;
    if (asked.result || std::erase(held_, number) > 0) {
        asked_.erase(number);
    }
}

bool Query::quiet() const {
    return std::all_of(asked_.begin(), asked_.end(),
                       [](const auto& asked) { return asked.second.result.has_value(); });
}

void Query::take(const progress::ControlMessage& message) {
    ByteReader in(message.bytes);
    const auto number = in.get<std::uint64_t>();
    if (message.topic == topic_query) {
        waiting_.push_back({message.from, number});
        return;
    }
    if (message.topic == topic_partial_wanted) {
        partials_wanted_.push_back(number);
        return;
    }
    const bool partial = in.get<bool>();
    Outcome outcome = decode_outcome(in.get_vector<std::byte>());
    if (partial) {
        partials_[message.from] = std::move(outcome);
        return;
    }
    const auto together = together_.extract(number);
    for (const std::uint64_t each : together.mapped()) {
        Asked& asked = asked_.at(each);
        asked.result = outcome;
        if (asked.forgotten) {
            asked_.erase(each);
        }
    }
    if (!held_.empty()) {
        send(std::exchange(held_, {}));
    }
}

bool Query::advance(const State& state) {
    bool moved = !partials_wanted_.empty();
    for (const std::uint64_t round : std::exchange(partials_wanted_, {})) {
        control_.post(consumers_.front(), topic_query_result, stream_,
                      encode_result(true, round, so_far(state)));
        ++answered_;
    }
    if (!is_first()) {
        return moved;
    }
    if (serving_.empty() && !waiting_.empty()) {
        moved = true;
        serving_ = std::exchange(waiting_, {});
        if (state.outcome != nullptr) {
            return_to_all(*state.outcome);
            return moved;
        }
        partials_ = {{rank_, so_far(state)}};
        ++round_;
        for (const int consumer : consumers_) {
            if (consumer == rank_) {
                continue;
            }
            control_.post(consumer, topic_partial_wanted, stream_, numbered(round_));
        }
    }
    if (serving_.empty() || partials_.size() < consumers_.size()) {
        return moved;
    }
    collect(state);
    return true;
}

void Query::collect(const State& state) {
    Outcome all = std::move(partials_.at(consumers_.front()));
    for (const int consumer : consumers_) {
        if (consumer == consumers_.front()) {
            continue;
        }
        Outcome& partial = partials_.at(consumer);
        all.elements += partial.elements;
        if (state.operation != nullptr) {
            all.result = state.operation->merge(std::move(all.result), partial.result);
        }
    }
    partials_.clear();
    if (state.operation != nullptr) {
        all.result = state.operation->finish(std::move(all.result));
    }
    return_to_all(all);
}

void Query::return_to_all(const Outcome& outcome) {
    for (const Request& request : std::exchange(serving_, {})) {
        control_.post(request.from, topic_query_result, stream_,
                      encode_result(false, request.number, outcome));
        ++answered_;
    }
}

}  // namespace fluvial::stream
