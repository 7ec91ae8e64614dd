// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/ending.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/raised.hpp"

namespace fluvial::stream {

Ending::Ending(progress::ControlMessages& control, int stream, std::vector<int> consumers,
               int index)
    : control_(control), stream_(stream), consumers_(std::move(consumers)), index_(index) {}

// Number i merges what i + 2^k has, for each k with i mod 2^(k+1) = 0, in the order of k.
std::vector<int> Ending::children() const {
    std::vector<int> found;
    const int count = static_cast<int>(consumers_.size());
    for (int step = 1; index_ % (2 * step) == 0 && index_ + step < count; step *= 2) {
        found.push_back(index_ + step);
    }
    return found;
}

void Ending::begin(const Operation* operation, std::uint64_t elements) {
    begun_ = true;
    mine_.elements = elements;
    if (operation != nullptr) {
        mine_.result = operation->partial();
    }
}

void Ending::take(const progress::ControlMessage& message) {
    if (message.topic == topic_finish) {
        finish(decode_outcome(message.bytes));
        return;
    }
    const auto number = std::find(consumers_.begin(), consumers_.end(), message.from);
    of_children_[static_cast<int>(number - consumers_.begin())] = decode_outcome(message.bytes);
}

bool Ending::advance(const Operation* operation) {
    const std::vector<int> below = children();
    if (!begun_ || sent_ || advancing_ || of_children_.size() < below.size()) {
        return false;
    }
    const Raised raised(advancing_);
    for (const int child : below) {
        mine_.elements += of_children_[child].elements;
        if (operation == nullptr) {
            continue;
        }
        mine_.result = operation->merge(std::move(mine_.result), of_children_[child].result);
    }
    of_children_.clear();
    sent_ = true;
    if (index_ == 0) {
        if (operation != nullptr) {
            mine_.result = operation->finish(std::move(mine_.result));
        }
        finish(std::move(mine_));
        return true;
    }
    const int parent = index_ & (index_ - 1);
    control_.post(consumers_[static_cast<std::size_t>(parent)], topic_done, stream_,
                  encode_outcome(mine_));
    return true;
}

void Ending::finish(Outcome outcome) {
    const std::vector<std::byte> bytes = encode_outcome(outcome);
    for (const int child : children()) {
        control_.post(consumers_[static_cast<std::size_t>(child)], topic_finish, stream_, bytes);
    }
    outcome_ = std::move(outcome);
}

}  // namespace fluvial::stream
