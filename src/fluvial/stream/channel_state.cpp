// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/channel_state.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold.hpp"
#include "fluvial/stream/trace_file.hpp"

namespace fluvial::stream {

namespace {

// Looking for control messages costs a probe of MPI; elements in shared memory come by the
// microsecond.
constexpr std::int64_t control_every_ns = 5'000;
/// While elements move: a probe of Open MPI 4.1 takes half a microsecond.
constexpr std::int64_t control_every_busy_ns = 25'000;
constexpr std::int64_t idle_worth_tracing_ns = 1'000;
/// For the lost, where a program polls instead of waiting here.
constexpr std::int64_t look_every_ns = 200'000'000;
/// Asking all others is worth it then.
constexpr double quiescence_after_s = 0.25;

/// In place of a stream's number, in messages of topic Failed: whether its sender still comes to
/// the end of the meeting that it is in.
constexpr int leaves = 0;
constexpr int stays = 1;

}  // namespace

bool ChannelState::working() const {
    return std::any_of(streams.begin(), streams.end(), [](const auto& stream) {
        return stream->consumer && stream->consumer->working();
    });
}

void ChannelState::check_usable() const {
    process.check();
    if (failure) {
        failure->raise(static_cast<int>(members.size()));
    }
    if (closed) {
        throw InvalidArgument(Problem{"the channel is closed", "", "", "Use it before close()"});
    }
}

/// True when something moved by it.
bool ChannelState::take(const progress::ControlMessage& message) {
    if (message.kind == progress::ControlTopic::Failed) {
        left_ = left_ || message.stream == leaves;
        if (failure) {
            return true;
        }
        failure = mpi::Failure::from_bytes(message.bytes);
        for (const auto& stream : streams) {
            stream->fast = {};
        }
        return true;
    }
    if (message.kind == progress::ControlTopic::WorkOn) {
        wanted_vote_ = std::max(wanted_vote_, ByteReader(message.bytes).get<Index>());
        return false;
    }
    if (message.kind == progress::ControlTopic::Asked ||
        message.kind == progress::ControlTopic::Told) {
        quiescence->take(message);
        return false;
    }
    if (failure) {
        return true;
    }
    const auto number = static_cast<std::size_t>(message.stream);
    if (message.kind == progress::ControlTopic::Contribution ||
        message.kind == progress::ControlTopic::Verdict) {
        failing([&] { return thresholds[number]->take(message), true; });
    } else {
        streams[number]->take(message);
    }
    return true;
}

bool ChannelState::take_control_messages() {
    const std::int64_t now = now_ns();
    if (now - control_polled_ns_ < (moved_ ? control_every_busy_ns : control_every_ns)) {
        return false;
    }
    control_polled_ns_ = now;
    progress::ServiceThread::of_process().serve(
        now);  // also of other channels: those who answer may wait for it
    bool any = false;
    while (const auto message = control->poll()) {
        any = take(*message) || any;
    }
    return any;
}

bool ChannelState::progress(const StreamState* spared) {
    if (!takes_part()) {
        return false;
    }
    const bool waits = std::exchange(waits_, false);
    bool moved = take_control_messages();
    check_usable();
    if (waits && !moved) {
        quiescence->answer(movement());
    }
    if (control_polled_ns_ - looked_ns_ >= look_every_ns) {
        look_for_the_lost();
    }
    moved = advance_thresholds() || moved;
    // By number: an operation may attach further streams.
    for (std::size_t i = 0; i < streams.size(); ++i) {
        moved = streams[i]->progress(streams[i].get() != spared) || moved;
    }
    moves_ += moved ? 1 : 0;
    moved_ = moved;
    if (staying_ && !moved && asked_vote_ < votes_ && working()) {
        ask_others_to_work_on();
    }
    return moved;
}

bool ChannelState::advance_thresholds() {
    bool moved = false;
    for (const auto& threshold : thresholds) {
        moved = failing([&] { return threshold->advance(); }) || moved;
    }
    return moved;
}

void ChannelState::was_idle(std::int64_t begin_ns, std::int64_t end_ns, bool traced) {
    for (const auto& stream : streams) {
        if (!stream->consumer) {
            continue;
        }
        const std::int64_t until_ns = std::min(end_ns, stream->ended_ns);
        stream->counted.idle_ns += std::max<std::int64_t>(0, until_ns - begin_ns);
    }
    if (traced && end_ns - begin_ns >= idle_worth_tracing_ns) {
        trace->add(Activity::Idle, -1, begin_ns, end_ns);
    }
}

void ChannelState::wait(std::string_view what, const std::function<bool()>& done) {
    const bool one_host = host.size() == comm.size();
    const bool consumer = consumes(members[static_cast<std::size_t>(rank)].role);
    wait(what, done, progress::BackOff(ranks_per_core(), bell_of(rank), one_host && !consumer));
}

void ChannelState::wait(std::string_view what, const std::function<bool()>& done,
                        progress::BackOff back_off) {
    std::int64_t moved_ns = 0;
    std::uint64_t moves = moves_;
    std::int64_t idle_ns = 0;                        // 0: not idle
    const bool traced = trace && !trace->in_span();  // a stall says more than that it was idle
    std::int64_t now = now_ns();
    for (; !done(); now = now_ns()) {
        waits_ = true;
        progress();
        const bool moved = moves != moves_;  // here, or by what `done` calls
        moves = moves_;
        if (moved) {
            if (idle_ns != 0) {
                was_idle(idle_ns, now, traced);
            }
            idle_ns = 0;
            back_off.found_something();
            moved_ns = 0;
        } else {
            if (idle_ns == 0) {
                idle_ns = now;
            }
            back_off.rest();
        }
        if (!back_off.time_to_look_around()) {
            continue;
        }
        look_around();
        if (moved) {
            continue;
        }
        if (moved_ns == 0) {
            moved_ns = now_ns();
        }
        const double waited_s = static_cast<double>(now_ns() - moved_ns) * 1e-9;
        if (waited_s >= quiescence_after_s) {
            check_quiescence(what);
        }
        if (waited_s < options.timeout_s) {
            continue;
        }
        throw TimedOut(Problem{text("Fluvial could not ", what, " in time"),
                               text("nothing moved for ", waited_s, " s"), "",
                               "Look at the other ranks, or raise timeout_s of the channel"});
    }
    if (idle_ns != 0) {
        was_idle(idle_ns, now, traced);
    }
}

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
    failure = failed;
    for (const auto& stream : streams) {
        stream->fast = {};
    }
    announce(!staying_);
}

void ChannelState::announce(bool is_leaving) noexcept {
    left_ = left_ || is_leaving;
    if (!mpi::running()) {
        return;
    }
    try {
        const std::vector<std::byte> bytes = failure->to_bytes();
        const bool dead = failure->kind == "PeerLost";
        for (int other = 0; other < static_cast<int>(members.size()); ++other) {
            if (other != rank && !(dead && other == failure->rank)) {
                control->post(other, progress::ControlTopic::Failed, is_leaving ? leaves : stays,
                              bytes);
            }
        }
    } catch (const std::exception&) {
        return;  // MPI is of no use any more; the failure itself is what the caller gets to see
    }
}

/// Nobody collects the events of all any more: each rank writes its own, beside where all would be.
void ChannelState::leave_trace() const noexcept {
    if (!trace) {
        return;
    }
    try {
        std::vector<std::string> names;
        for (const auto& stream : streams) {
            names.push_back(stream->name());
        }
        write_own_trace(trace_file, rank, *trace, trace_start_ns,
                        members[static_cast<std::size_t>(rank)].role, names);
    } catch (const std::exception&) {
        return;  // the channel's failure is what counts
    }
}

void ChannelState::abandon() noexcept {
    if (process.is_copy()) {
        return;
    }
    if (!closed) {
        leave_trace();
    }
    closed = true;
    for (const auto& stream : streams) {
        stream->abandon();
    }
    streams.clear();
    for (const auto& threshold : thresholds) {
        threshold->forget_rule();
    }
    heartbeats.reset();
    if (control) {
        control->abandon();
    }
    bells.abandon();
    host.abandon();
    comm.abandon();
}

}  // namespace fluvial::stream
