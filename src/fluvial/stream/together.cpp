// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a channel come together before collective work: what they do in the barrier
/// (progress/barrier.hpp), and when it is told that it cannot come.
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

/// By the numbers of Collective.
constexpr std::array<const char*, 3> purposes = {"attach a stream", "begin a threshold collective",
                                                 "close the channel"};

}  // namespace

void ChannelState::make_barrier() {
    progress::BarrierOwner& owner = *this;
    barrier_.emplace(
        owner, comm, *control, *quiescence,
        progress::BarrierOptions{.of = "channel",
                                 .purposes = purposes,
                                 .same_order = "Attach and close in the same order on all ranks",
                                 .timeout_s = options.timeout_s,
                                 .ranks_per_core = ranks_per_core(),
                                 .own = &served});
    control->on(topic_closing, [this](const auto& message) {
        closing.others_vote = ByteReader(message.bytes).template get<Index>();
        return false;
    });
}

ChannelState::Together ChannelState::begin_together(Collective purpose) {
    const progress::Served::Inside inside(served);
    check_usable();
    const int number = static_cast<int>(purpose);
    const char* name = barrier_->name_of(number);
    if (const auto current = barrier_->purpose()) {
        throw InvalidArgument(Problem{text("an operation of this rank tries to ", name),
                                      text("the rank is about to ", barrier_->name_of(*current)),
                                      "one after the other",
                                      "Attach, begin and close outside of operations"});
    }
    barrier_->pass(number);
    return {*this, name};
}

void ChannelState::wait_for_all(const char* purpose, const std::function<bool()>& done) {
    progress::BackOff back_off(ranks_per_core());
    wait(purpose, done, back_off);
}

bool ChannelState::turn(bool may_begin) {
    waits_ = true;
    return may_begin ? progress() : attend();
}

/// As progress(), but begins no operation.
bool ChannelState::attend() {
    const bool waits = std::exchange(waits_, false);
    bool moved = take_control_messages();
    check_usable();
    if (waits && !moved) {
        quiescence->answer(movement());
    }
    moved = advance_thresholds() || moved;
    for (const auto& stream : streams) {
        moved = stream->attend() || moved;
    }
    moves_ += moved ? 1 : 0;
    moved_ = moved;
    return moved;
}

/// A rank that closes comes to the barrier when its streams have ended. A producer that attaches
/// instead of ending them would not come to the same one before.
void ChannelState::tell_of_closing() {
    if (!closing.begun || barrier_->purpose() || std::exchange(closing.told, true)) {
        return;
    }
    ByteWriter out;
    out.put(barrier_->votes());
    for (const int producer : producers) {
        if (producer != rank) {
            control->post(producer, topic_closing, 0, out.view());
        }
    }
}

/// Ranks that have given equally many votes are on their way to the same barrier. While something
/// moves, an operation of the rank that closes may still attach what this rank attaches.
void ChannelState::check_nobody_closes() {
    constexpr int close = static_cast<int>(Collective::Close);
    const auto purpose = barrier_->purpose();
    if (!purpose || *purpose == close || closing.others_vote != barrier_->votes() ||
        !quiescence->found(movement())) {
        return;
    }
    fail(barrier_->different_purposes(*purpose, close, rank));
    check_usable();
}

progress::Movement ChannelState::movement() const {
    progress::Movement mine{moves_, 0, control->under_way()};
    for (const auto& stream : streams) {
        if (stream->producer) {
            mine.elements += static_cast<std::int64_t>(stream->producer->bytes());
        }
        if (!stream->consumer) {
            continue;
        }
        const std::uint64_t here = stream->consumer->bytes() + stream->consumer->depth();
        mine.elements -= static_cast<std::int64_t>(here);
    }
    return mine;
}

/// Where all ranks come together, no program goes on, only operations do. When these all wait, they
/// wait in vain.
void ChannelState::check_quiescence(std::string_view what) {
    if (!barrier_->in_vain(movement())) {
        return;
    }
    throw InvalidArgument(Problem{
        text("an operation waits in vain: Fluvial cannot ", what, " before its end"),
        text("all ranks are about to ", barrier_->name_of(*barrier_->purpose()),
             ", and nothing moves any more"),
        "",
        "Inside of operations use what does not wait (try_next, isend, iquery), or wait after "
        "them"});
}

}  // namespace fluvial::stream
