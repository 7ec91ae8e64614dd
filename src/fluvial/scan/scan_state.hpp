// SPDX-License-Identifier: Apache-2.0
/// What a scan has between its verbs, and the lanes that do its units.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "fluvial/progress/engine.hpp"
#include "fluvial/scan/lane.hpp"
#include "fluvial/scan/plan.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/work_sharing.hpp"

namespace fluvial::scan {

/// Lanes run on threads of their own, unless on_calling_thread, and touch neither MPI (but for what
/// operators do) nor each other; the thread that owns the Scan does all communication.
struct Scan::State {
    State(Request wanted, Options chosen, const mpi::Comm& user);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    void start();
    /// The next units of the only lane, when the caller's thread runs it; true when there were
    /// some.
    bool run_some_here();
    bool lanes_finished();
    /// Waits for all, and gives the result. Collective where the scan is.
    Outcome finish();

    Request request;
    Options options;
    std::int64_t begin_ns;
    Plan plan;
    bool collective;
    mpi::Comm comm;  ///< serial unless collective
    UnitGrid grid;
    Work work;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::optional<WorkSharing> work_sharing;
    Index units_here = 0;  ///< the share of this rank's lanes
    std::vector<std::thread> threads;
    std::atomic<bool> stop = false;
    std::atomic<Index> done = 0;
    std::mutex mutex;  ///< of what follows
    std::condition_variable finished;
    int running = 0;
    std::exception_ptr failure;
    bool started = false;  ///< the owner's, as the next one
    bool all_finished = false;
    bool collected = false;
    bool in_lane = false;  ///< of the thread that owns the scan, further up the stack
    /// A lane that has no thread goes on while its owner waits for something else.
    progress::Served served{[this] { return started && run_some_here(); }, false};

  private:
    class LanesWait;

    void make_lanes();
    bool run_units(std::size_t i, Index most);
    void lane_ended();
    void wait_for_lanes();
    void join();
    Outcome collect();
    std::vector<std::optional<PartialResult>> merge_lanes(Stats& stats);
};

}  // namespace fluvial::scan
