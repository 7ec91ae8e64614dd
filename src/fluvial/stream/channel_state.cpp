// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/channel_state.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/raised.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold.hpp"
#include "fluvial/stream/trace_file.hpp"

namespace fluvial::stream {

namespace {

/// While elements move: a probe of Open MPI 4.1 takes half a microsecond.
constexpr std::int64_t control_every_busy_ns = 25'000;
constexpr std::int64_t idle_worth_tracing_ns = 1'000;
/// For the lost, where a program polls instead of waiting here.
constexpr std::int64_t look_every_ns = 200'000'000;
/// Asking all others is worth it then.
constexpr double quiescence_after_s = 0.25;

}  // namespace

int ChannelState::operations_under_way() const {
    return static_cast<int>(std::count_if(streams.begin(), streams.end(), [](const auto& stream) {
        return stream->consumer && stream->consumer->working();
    }));
}

void ChannelState::check_usable() const {
    process.check();
    if (failure) {
        unheard_ = false;
        failure->raise(static_cast<int>(members.size()));
    }
    if (closed) {
        throw InvalidArgument(Problem{"the channel is closed", "", "", "Use it before close()"});
    }
    if (mpi::ending() && !comm.serial()) {
        mpi::check_running();
    }
}

void ChannelState::handle_topics() {
    quiescence.emplace(*control, rank, comm.size());
    make_barrier();
    StreamState::handle(*control, [this](const auto& message) {
        if (!failure) {
            streams[static_cast<std::size_t>(message.subject)]->take(message);
        }
        return true;
    });
    Threshold::handle(*control, [this](const auto& message) {
        const auto number = static_cast<std::size_t>(message.subject);
        return failure || failing([&] { return thresholds[number]->take(message), true; });
    });
}

bool ChannelState::take_control_messages() {
    const std::int64_t now = now_ns();
    if (now - control_polled_ns_ < (moved_ ? control_every_busy_ns : control_every_ns)) {
        return false;
    }
    control_polled_ns_ = now;
    progress::ServiceThread::of_process().serve(
        now);  // also of other channels: the ranks that answer may wait for it
    bool any = false;
    while (const auto message = control->poll()) {
        any = control->handle(*message) || any;
    }
    return any;
}

bool ChannelState::progress(const StreamState* spared) {
    return takes_part() && advance(spared, false);
}

/// By a thread that waits for something else. What it throws is the channel's failure.
bool ChannelState::serve() {
    if (!takes_part() || !control || closed || failure || process.is_copy() ||
        (mpi::ending() && !comm.serial())) {
        return false;
    }
    try {
        return advance(nullptr, true);
    } catch (...) {
        fail(std::current_exception());
        unheard_ = failure.has_value();
        throw;
    }
}

/// `served`: producers do only what no call of the program can be in the middle of.
bool ChannelState::advance(const StreamState* spared, bool served) {
    const bool waits = std::exchange(waits_, false);
    bool moved = take_control_messages();
    check_usable();
    if (waits && !moved) {
        quiescence->answer(movement());
    }
    if (control_polled_ns_ - lost_ranks.looked_ns() >= look_every_ns) {
        look_for_the_lost();
    }
    moved = advance_thresholds() || moved;
    // By number: an operation may attach further streams.
    for (std::size_t i = 0; i < streams.size(); ++i) {
        StreamState& stream = *streams[i];
        moved = stream.progress(&stream != spared, !served || stream.may_be_served()) || moved;
    }
    moves_ += moved ? 1 : 0;
    moved_ = moved;
    if (!moved) {
        barrier_->ask_others_to_work_on();
    }
    return moved;
}

bool ChannelState::advance_thresholds() {
    if (advancing_thresholds_) {
        return false;  // by a function of theirs, which waits
    }
    const Raised raised(advancing_thresholds_);
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
        trace.events->add(Activity::Idle, -1, begin_ns, end_ns);
    }
}

/// One wait of a verb of the channel.
class ChannelState::Waits final : public progress::Waiting {
  public:
    Waits(ChannelState& channel, std::string_view what, const std::function<bool()>& done)
        : channel_(channel),
          what_(what),
          done_(done),
          traced_(channel.trace.events && !channel.trace.events->in_span()),
          moves_(channel.moves_) {}
    ~Waits() override { idle_until(now_ns()); }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;

    Seen look() override {
        if (done_()) {
            return Seen::End;
        }
        const std::int64_t now = now_ns();
        channel_.waits_ = true;
        channel_.progress();
        moved_ = moves_ != channel_.moves_;  // here, or by what `done` calls
        moves_ = channel_.moves_;
        if (moved_) {
            idle_until(now);
            still_ns_ = 0;
            return Seen::Movement;
        }
        if (idle_ns_ == 0) {
            idle_ns_ = now;
        }
        return Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        channel_.look_around();
        if (moved_) {
            return;
        }
        if (still_ns_ == 0) {
            still_ns_ = now_ns();
        }
        const double still_s = static_cast<double>(now_ns() - still_ns_) * 1e-9;
        if (still_s >= quiescence_after_s) {
            channel_.tell_of_closing();
            channel_.check_nobody_closes();
            channel_.check_quiescence(what_);
        }
        if (still_s >= channel_.options.timeout_s) {
            throw TimedOut(Problem{text("Fluvial could not ", what_, " in time"),
                                   text("nothing moved for ", still_s, " s"), "",
                                   "Look at the other ranks, or raise timeout_s of the channel"});
        }
    }

  private:
    void idle_until(std::int64_t now) {
        if (idle_ns_ != 0) {
            channel_.was_idle(idle_ns_, now, traced_);
        }
        idle_ns_ = 0;
    }

    ChannelState& channel_;
    std::string_view what_;
    const std::function<bool()>& done_;
    const bool traced_;  ///< a stall says more than that it was idle
    std::uint64_t moves_;
    bool moved_ = false;
    std::int64_t still_ns_ = 0;  ///< since when nothing moves; 0: something does
    std::int64_t idle_ns_ = 0;   ///< the same, by each look; 0: not idle
};

void ChannelState::wait(std::string_view what, const std::function<bool()>& done) {
    const bool one_host = host.size() == comm.size();
    const bool consumer = consumes(members[static_cast<std::size_t>(rank)].role);
    progress::BackOff back_off(ranks_per_core(), bell_of(rank), one_host && !consumer);
    wait(what, done, back_off);
}

void ChannelState::wait(std::string_view what, const std::function<bool()>& done,
                        progress::BackOff& back_off) {
    const progress::Served::Inside inside(served);
    Waits waiting(*this, what, done);
    progress::wait(waiting, back_off, &served);
}

/// The events of all ranks are not collected any more: each rank writes its own, beside where all
/// would be.
void ChannelState::leave_trace() const noexcept {
    if (!trace.events) {
        return;
    }
    try {
        std::vector<std::string> names;
        for (const auto& stream : streams) {
            names.push_back(stream->name());
        }
        write_own_trace(trace.file, rank, *trace.events, trace.start_ns,
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
    served.end();
    for (const auto& stream : streams) {
        stream->abandon();
    }
    streams.clear();
    for (const auto& threshold : thresholds) {
        threshold->forget_rule();
    }
    lost_ranks.end();
    if (control) {
        control->abandon();
    }
    bells.abandon();
    host.abandon();
    comm.abandon();
}

}  // namespace fluvial::stream
