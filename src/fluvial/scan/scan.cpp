// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/scan.hpp"

#include <algorithm>

#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/scan/scan_state.hpp"

namespace fluvial::scan {

Options begun_together(Options options, const mpi::Comm& comm) {
    const progress::Setup setup;
    if (comm.size() == 1) {  // or a program would fail only on several ranks
        move::RankWatch::check_stall_timeout(options.stall_timeout_s);
    }
    if (!options.task && comm.size() > 1 && options.mode == Options::Mode::Collective) {
        options.task = std::make_shared<const move::WatchedTask>(
            move::RankWatch::of(comm), options.stall_timeout_s, "the scan");
        options.task->come();
    }
    return options;
}

Scan::Scan(Request request, Options options, const mpi::Comm& comm)
    : state_([&] {
          const progress::Setup setup;
          options = begun_together(std::move(options), comm);
          const auto make = [&] { return new State(std::move(request), options, comm); };
          return options.task ? options.task->during(make) : make();
      }()) {}
Scan::Scan(Scan&&) noexcept = default;
Scan::~Scan() = default;

Scan::State& Scan::state() const {
    if (state_ == nullptr) {
        throw InvalidArgument(Problem{"this scan has been moved from", "an empty object",
                                      "the one that it was moved to", ""});
    }
    state_.get_deleter().made.check("the scan");  // its threads are not here
    return *state_;
}

/// What ranks still have to say to each other goes by MPI.
void Scan::check_running() const {
    if (!state().comm.serial()) {
        mpi::check_running();
    }
}

void Scan::start() {
    state().start();
}

bool Scan::test() {
    State& state = this->state();
    if (!state.all_finished) {
        check_running();
    }
    if (state.started) {
        state.run_some_here();
    }
    if (!state.lanes_finished()) {
        return false;
    }
    if (!state.collective || state.all_finished) {
        return true;
    }
    try {
        state.comm.barrier(Deadline(0));
    } catch (const TimedOut&) {
        return false;  // the next call goes on with the same barrier
    }
    state.all_finished = true;
    return true;
}

double Scan::progress() const {
    State& state = this->state();
    if (state.lanes_finished() || state.units_here == 0) {
        return 1.0;
    }
    // Other ranks may have done some of these units, and these lanes some of theirs.
    const Index done = std::min<Index>(state.done, state.units_here - 1);
    return static_cast<double>(done) / static_cast<double>(state.units_here);
}

Outcome Scan::wait() {
    State& state = this->state();
    if (state.collected) {
        throw InvalidArgument(Problem{"this scan has been waited for", "a second wait()",
                                      "one a scan", "Keep the first outcome"});
    }
    check_running();
    state.collected = true;
    const auto finish = [&] { return state.finish(); };
    return state.options.task ? state.options.task->during(finish) : finish();
}

Outcome run(Request request, const Options& options, const mpi::Comm& comm) {
    Scan scan(std::move(request), options, comm);
    scan.start();
    return scan.wait();
}

}  // namespace fluvial::scan
