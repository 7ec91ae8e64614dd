// SPDX-License-Identifier: Apache-2.0
/// How a rank of a channel sees that another one is dead or stopped.
#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/progress/silence.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/threshold.hpp"

namespace fluvial::stream {

void ChannelState::look_around() {
    if (closing) {
        for (const auto& threshold : thresholds) {
            threshold->retire();
        }
    }
    look_for_the_lost();
}

/// While all do what is collective. It throws what others have failed by, too: they do not come.
void ChannelState::look_at_others(const char* what, double waited_s) {
    if (!closed) {
        control_polled_ns_ = 0;
        take_control_messages();
        if (failure && left_) {
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
    looked_ns_ = now_ns();
    if (static_cast<double>(looked_ns_ - watched_ns_) * 1e-9 >= options.dead_after_s / 2) {
        watched_ns_ = looked_ns_;
        look_for_the_dead();
    }
    look_for_the_stalled();
    look_for_the_distant();
}

void ChannelState::look_for_the_dead() {
    for (const int other : watched) {
        if (is_alive(members[static_cast<std::size_t>(other)].process)) {
            continue;
        }
        lose({"PeerLost", "the process died", other});
    }
}

void ChannelState::look_for_the_stalled() {
    const auto silent = heartbeats ? heartbeats->look() : std::nullopt;
    if (!silent) {
        return;
    }
    look_for_the_dead();  // dead ranks do not beat either
    const int other = silent->member;
    const host::Process& process = members[static_cast<std::size_t>(other)].process;
    lose(
        {"PeerStalled",
         progress::silent_here({process, silent->silent_s, options.stall_timeout_s, "the channel"}),
         other});
}

/// The next host may have failed, or be cut off: its ranks cannot tell.
void ChannelState::look_for_the_distant() {
    const auto silent = distant_beats ? distant_beats->look() : std::nullopt;
    if (!silent) {
        return;
    }
    const host::Process& process = members[static_cast<std::size_t>(silent->member)].process;
    lose(
        {"PeerStalled",
         progress::silent_afar({process, silent->silent_s, options.stall_timeout_s, "the channel"}),
         silent->member});
}

void ChannelState::lose(const mpi::Failure& lost) {
    if (!closed) {
        control_polled_ns_ = 0;
        take_control_messages();  // its last words may say why
    }
    staying_ = false;
    if (!failure) {
        fail(lost);
    }
    if (!left_) {
        announce(true);
    }
    failure->raise(static_cast<int>(members.size()));
}

}  // namespace fluvial::stream
