// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/quiescence.hpp"

#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::progress {

Quiescence::Quiescence(ControlMessages& control, int rank, int ranks)
    : control_(control), rank_(rank), ranks_(ranks) {
    for (const Topic topic : {topic_moved_asked, topic_moved_told}) {
        control.on(topic, [this](const ControlMessage& message) {
            take(message);
            return false;
        });
    }
}

void Quiescence::take(const ControlMessage& message) {
    if (message.topic == topic_moved_asked) {
        asked_.push_back(message);
        return;
    }
    ByteReader in(message.bytes);
    if (in.get<std::uint64_t>() != round_ || missing_ == 0) {
        return;
    }
    told_[static_cast<std::size_t>(message.from)] = in.get<Movement>();
    --missing_;
}

void Quiescence::answer(const Movement& mine) {
    for (const ControlMessage& message : std::exchange(asked_, {})) {
        ByteWriter out;
        out.put(ByteReader(message.bytes).get<std::uint64_t>());
        out.put(mine);
        control_.post(message.from, topic_moved_told, 0, out.view());
    }
}

bool Quiescence::found(const Movement& mine) {
    if (missing_ > 0) {
        return false;
    }
    if (told_.empty()) {
        ask();
        return false;
    }
    told_[static_cast<std::size_t>(rank_)] = mine;
    std::int64_t elements = 0;
    std::int64_t messages = 0;
    for (const Movement& movement : told_) {
        elements += movement.elements;
        messages += movement.messages;
    }
    if (before_ && *before_ == told_ && elements == 0 && messages == 0) {
        return true;
    }
    before_ = std::move(told_);
    ask();
    return false;
}

void Quiescence::ask() {
    ++round_;
    told_.assign(static_cast<std::size_t>(ranks_), {});
    missing_ = ranks_ - 1;
    ByteWriter out;
    out.put(round_);
    for (int other = 0; other < ranks_; ++other) {
        if (other != rank_) {
            control_.post(other, topic_moved_asked, 0, out.view());
        }
    }
}

}  // namespace fluvial::progress
