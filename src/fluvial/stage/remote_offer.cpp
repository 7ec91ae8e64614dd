// SPDX-License-Identifier: Apache-2.0
/// How a session gives steps to its reader: taken from the queue as they are asked for, and sent.
#include <optional>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/incoming_data.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/remote_session.hpp"
#include "fluvial/stage/stream_end.hpp"

namespace fluvial::stage {

/// Gives back what is to be given back, and answers the requests for steps, as far as that can be
/// done now.
void RemoteSession::offer() {
    while ((asked_ > 0 || handed_out_.any_spent()) && offer_one()) {
    }
}

bool RemoteSession::offer_one() {
    Taken taken;
    std::uint64_t step = 0;
    Bearings bearings;
    std::optional<ControlLock> lock(std::in_place, control());
    handed_out_.let_go(control(), place_.cell);
    if (asked_ == 0) {
        return false;
    }
    try {
        taken = given_ ? take_given(control(), place_.cell, *given_)
                       : take(control(), place_.cell, memory_.log);
        others_lag_ = taken.others_lag;
        if (!taken.any() && !taken.gone &&
            (taken.others_lag || !at_end(control(), place_.cell, stall_timeout_s_))) {
            return false;
        }
        if (taken.any()) {
            step = taken.logged
                       ? taken.logged->step
                       : control().slots()[taken.slot].step.load(std::memory_order_acquire);
            next_index_ = step + 1;
        }
        bearings = bearings_of(next_index_);
    } catch (const Error& error) {
        refuse(error);
        ended_ = control().header().failure.set != 0;
        return false;
    }
    lock.reset();
    const bool was_given = std::exchange(given_, std::nullopt).has_value();
    if (taken.any()) {
        --asked_;
        send_step(taken, step, bearings);
        return true;
    }
    asked_ = 0;
    ended_ = !was_given;
    connection_.post(encode(ended_ ? FromWriter::End : FromWriter::Gone, bearings));
    return false;
}

void RemoteSession::send_step(const Taken& taken, std::uint64_t step, const Bearings& bearings) {
    HandedOutSteps::Step& handed_out = handed_out_.add(step, taken);
    try {
        handed_out.message = messages_.message_of(taken, step, bearings);
    } catch (const Error& error) {  // the steps on the disk are damaged
        refuse(error);
        handed_out_.finish(step);
        return;
    }
    handed_out.number = sent_++;
    last_step_ns_ = now_ns();
    post(handed_out.message);
    const StepMessages::Message& message = handed_out.message;
    if (gives_back_early() && message.complete && !(message.borrows && goes_on_)) {
        handed_out_.goes_complete(step, message.borrows ? connection_.raw_posted() : 0);
    }
    if (!goes_on_) {
        // Nothing will be sent again, but what is still to be fetched.
        StepMessages::Message fetched;
        fetched.common = std::move(handed_out.message.common);
        fetched.common_at = handed_out.message.common_at;
        handed_out.message = std::move(fetched);
    }
    note_sent();
}

bool RemoteSession::hand_out() {
    if (over_ || connection_.sending()) {
        return false;
    }
    try {
        offer();
        const bool all = connection_.flush();
        note_sent();
        if (handed_out_.any_spent()) {
            const ControlLock lock(control());
            handed_out_.let_go(control(), place_.cell);
        }
        return all;
    } catch (const PeerStalled&) {  // again later
    } catch (const std::exception& error) {
        lose(error.what());
    }
    return false;
}

void RemoteSession::post(const StepMessages::Message& message) {
    connection_.post(message.bytes);
    for (const move::PackedBytes& part : message.behind) {
        move::post_data(connection_, part.bytes, part.owner, memory_.encrypt);
    }
}

}  // namespace fluvial::stage
