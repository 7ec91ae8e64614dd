// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/scan_state.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/exchange.hpp"
#include "fluvial/scan/routing.hpp"

namespace fluvial::scan {

namespace {

/// Units that test() works through on_calling_thread: 4 MiB by default, about a millisecond.
constexpr Index units_a_test = 4;

/// Ranks of a host help each other where each thread has so much to do that it pays to arrange it.
constexpr Index helped_units_min = 64;

/// Whether lanes may do units of others' shares: the result is the same but for the last bit.
bool shares_work(const Request& request, const Options& options) {
    return !options.reproducible && request.weights.empty() &&
           std::all_of(request.entries.begin(), request.entries.end(),
                       [](const auto& entry) { return entry.op->any_order(); });
}

/// As wanted, with what follows from it.
Options settled(Options options) {
    if (options.on_calling_thread) {
        options.threads = 1;
    }
    return options;
}

void add(Stats& sum, const Stats& lane) {
    sum.bytes_read += lane.bytes_read;
    sum.reads += lane.reads;
    sum.elements += lane.elements;
    sum.chunks_decoded += lane.chunks_decoded;
    sum.read_s += lane.read_s;
    sum.compute_s += lane.compute_s;
}

}  // namespace

Scan::State::State(Request wanted, Options chosen, const mpi::Comm& user)
    : request(std::move(wanted)),
      options(settled(chosen)),
      begin_ns(now_ns()),
      plan(make_plan(request, options, user)),
      collective(user.size() > 1 && options.mode == Options::Mode::Collective),
      grid(request.inputs[plan.grid_input], plan.selection, plan.buffer_bytes),
      work{request,
           grid,
           plan.selection,
           plan.common,
           plan.own,
           plan.rank_requests,
           plan.common || options.shuffle != Options::Shuffle::ToAll,
           plan.covered,
           plan.sets,
           plan.over,
           plan.groups,
           plan.buffer_bytes,
           options.read_ahead_bytes,
           plan.window_bytes,
           plan.access,
           plan.grid_input} {
    if (!collective) {
        make_lanes();
        return;
    }
    mpi::agree(user, [&] { make_lanes(); });
    if (options.shuffle == Options::Shuffle::Common && shares_work(request, options) &&
        grid.size() >= helped_units_min * plan.lanes && grid.size() <= WorkSharing::units_max) {
        work_sharing->help_on_host(user);
    }
    comm = mpi::Comm::duplicate(user.handle());  // last: a failure above leaves nothing open
}

void Scan::State::make_lanes() {
    const Index units = grid.size();
    std::vector<UnitRange> shares;
    for (Index lane = plan.lane_begin; lane < plan.lane_begin + plan.threads; ++lane) {
        lanes.push_back(std::make_unique<Lane>(work));
        shares.emplace_back(first_unit(lane, plan.lanes, units),
                            first_unit(lane + 1, plan.lanes, units));
        units_here += shares.back().second - shares.back().first;
    }
    work_sharing.emplace(std::move(shares));
    if (!collective && lanes.size() > 1 && shares_work(request, options) &&
        units <= WorkSharing::units_max) {
        work_sharing->help_here();
    }
}

Scan::State::~State() {
    served.end();
    stop = true;
    join();
}

void Scan::State::start() {
    if (started) {
        return;
    }
    started = true;
    running = static_cast<int>(lanes.size());
    for (std::size_t i = 0; i < lanes.size() && !options.on_calling_thread; ++i) {
        try {
            threads.emplace_back([this, i] {
                while (run_units(i, WorkSharing::batch_max)) {
                }
                lane_ended();
            });
        } catch (...) {  // no thread to be had: wait() tells all ranks
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            stop = true;
            running -= static_cast<int>(lanes.size() - i);
            break;
        }
    }
}

/// The next units of lane `i`, at most `most`; false when there are none, or no more are done.
bool Scan::State::run_units(std::size_t i, Index most) {
    try {
        const auto units = stop ? std::nullopt : work_sharing->take(i, most);
        if (units) {
            lanes[i]->run(units->first, units->second, stop, done);
            return true;
        }
    } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) {
            failure = std::current_exception();
        }
        stop = true;
    }
    if (stop) {
        work_sharing->give_up();
    }
    return false;
}

bool Scan::State::run_some_here() {
    if (!options.on_calling_thread || in_lane || lanes_finished()) {
        return false;
    }
    in_lane = true;
    // Chunks are put into the order of the file batch by batch.
    const Index most = options.reproducible ? WorkSharing::batch_max : units_a_test;
    if (!run_units(0, most)) {
        lane_ended();
    }
    in_lane = false;
    return true;
}

void Scan::State::lane_ended() {
    const std::lock_guard lock(mutex);
    if (--running == 0) {
        finished.notify_all();
    }
}

bool Scan::State::lanes_finished() {
    const std::lock_guard lock(mutex);
    return started && running == 0;
}

void Scan::State::join() {
    for (std::thread& thread : threads) {
        if (thread.joinable()) {
            thread.join();
        }
    }
}

Outcome Scan::State::finish() {
    try {
        wait_for_lanes();
        if (collective && !all_finished) {
            comm.barrier();  // the barrier that test() may have begun on any rank
            all_finished = true;
        }
        work_sharing->close();
        Outcome outcome = collect();
        comm.close();
        return outcome;
    } catch (...) {
        if (options.task && options.task->ended()) {
            comm.abandon();
        } else {
            comm.close();  // what is thrown in collect() is thrown on all ranks
        }
        throw;
    }
}

Outcome Scan::State::collect() {
    wait_for_lanes();
    const std::int64_t merge_begin = now_ns();
    Outcome outcome;
    std::vector<std::optional<PartialResult>> mine;
    const auto here = [&] { mine = merge_lanes(outcome.stats); };
    if (collective) {
        mpi::agree(comm, here);
    } else {
        here();
    }
    outcome.stats.metadata_bytes = plan.metadata_bytes;
    if (!collective) {
        outcome.groups =
            (mine[0] ? std::move(*mine[0]) : work.new_partial_result(plan.own)).finish();
    } else if (work.one_result) {
        outcome.groups = merge_to_one(work, std::move(mine[0]), comm, outcome.stats).finish();
    } else {
        const Routes routes{plan.askers, plan.readers};
        outcome.groups = merge_to_all(work, std::move(mine), routes, comm, outcome.stats).finish();
    }
    outcome.stats.merge_s = static_cast<double>(now_ns() - merge_begin) * 1e-9;
    outcome.stats.total_s = static_cast<double>(now_ns() - begin_ns) * 1e-9;
    return outcome;
}

/// Throws what a lane threw.
std::vector<std::optional<PartialResult>> Scan::State::merge_lanes(Stats& stats) {
    if (failure) {
        std::rethrow_exception(failure);
    }
    std::vector<std::optional<PartialResult>> mine(work.one_result ? 1 : work.rank_requests.size());
    for (const auto& lane : lanes) {
        for (std::size_t i = 0; i < mine.size(); ++i) {
            auto& partial_result = lane->partial_results()[i];
            if (partial_result && mine[i]) {
                mine[i]->merge(*partial_result);
            } else if (partial_result) {
                mine[i] = std::move(partial_result);
            }
        }
        add(stats, lane->stats());
    }
    return mine;
}

/// Until all lanes have ended, also after Ctrl-C: then they end early.
class Scan::State::LanesWait final : public progress::Waiting {
  public:
    explicit LanesWait(State& scan) : scan_(scan) {}
    Seen look() override {
        if (scan_.lanes_finished()) {
            return Seen::End;
        }
        return scan_.run_some_here() ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        try {
            progress::look_out(waited_s);
        } catch (...) {
            const std::lock_guard lock(scan_.mutex);
            scan_.failure = std::current_exception();
            scan_.stop = true;
        }
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr auto look = std::chrono::milliseconds(50);
        constexpr auto brief = std::chrono::microseconds(100);
        std::unique_lock lock(scan_.mutex);
        if (scan_.running > 0) {
            scan_.finished.wait_for(lock, serving ? brief : look);
        }
        back_off.slept();
    }

  private:
    State& scan_;
};

void Scan::State::wait_for_lanes() {
    start();
    LanesWait waiting(*this);
    progress::BackOff back_off;
    progress::wait(waiting, back_off, &served);
    join();
}

}  // namespace fluvial::scan
