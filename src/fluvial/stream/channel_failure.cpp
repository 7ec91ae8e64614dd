// SPDX-License-Identifier: Apache-2.0
/// How a channel fails: by what an operation throws, or because a rank is lost; and when a rank
/// looks for that.
#include <atomic>
#include <exception>
#include <functional>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold.hpp"

namespace fluvial::stream {

bool ChannelState::failing(const std::function<bool()>& work) {
    try {
        return work();
    } catch (...) {
        fail(std::current_exception());
        throw;
    }
}

void ChannelState::fail(std::exception_ptr thrown) noexcept {
    if (failure || !takes_part() || process.is_copy()) {
        return;  // that failure is thrown
    }
    const auto found = mpi::failure_of(rank, [&] { std::rethrow_exception(thrown); });
    fail(*found);
}

void ChannelState::fail(const mpi::Failure& failed) noexcept {
    if (failure || !takes_part() || process.is_copy()) {
        return;
    }
    know(failed);
    barrier_->tell();
}

void ChannelState::know(const mpi::Failure& failed) noexcept {
    failure = failed;
    for (const auto& stream : streams) {
        stream->fast = {};
    }
}

void ChannelState::look_around() {
    if (closing.begun) {
        for (const auto& threshold : thresholds) {
            threshold->retire();
        }
    }
    look_for_the_lost();
}

void ChannelState::look_for_failure() {
    const std::uint64_t beat = lost_ranks.beats().load(std::memory_order_relaxed);
    if (beat == looked_beat_) {
        return;
    }
    looked_beat_ = beat;
    take_control_messages();
    check_usable();
}

/// While all do what is collective. It throws what others have failed by, too: they do not come.
void ChannelState::look_at_others(const char* what, double waited_s) {
    if (!closed) {
        control_polled_ns_ = 0;
        take_control_messages();
        if (failure && barrier_->left()) {
            check_usable();
        }
    }
    look_for_the_lost();
    if (waited_s < options.timeout_s) {
        return;
    }
    const TimedOut late(Problem{text("Fluvial could not ", what, " in time"),
                                text("a rank has not come for ", waited_s, " s"), "",
                                "Look at the other ranks, or raise timeout_s of the channel"});
    fail({"TimedOut", late.what(), rank});
    throw late;
}

void ChannelState::look_for_the_lost() {
    if (const auto lost = lost_ranks.look()) {
        lose(*lost);
    }
}

void ChannelState::lose(const mpi::Failure& lost) {
    if (!closed) {
        control_polled_ns_ = 0;
        take_control_messages();  // its last words may say why
    }
    barrier_->stop_staying();
    if (!failure) {
        fail(lost);
    }
    barrier_->leave();
    failure->raise(static_cast<int>(members.size()));
}

}  // namespace fluvial::stream
