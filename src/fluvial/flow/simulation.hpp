// SPDX-License-Identifier: Apache-2.0
/// The scheduler of a pool, driven by simulated tasks: pure, in simulated time.
#pragma once

#include <vector>

#include "fluvial/flow/scheduler.hpp"

namespace fluvial::flow {

struct SimulatedTask {
    Request request;
    double arrives_s = 0;
    double takes_s = 0;  ///< on the least of its widths; as much work on any other
};

/// What one task did.
struct Occupation {
    TaskId task = 0;
    double arrived_s = 0, began_s = 0, ended_s = 0;
    std::vector<int> ranks;
};

struct Simulated {
    std::vector<Occupation> tasks;  ///< in the order in which they began
    double end_s = 0;
    double busy_s = 0;  ///< of all ranks together
    int ranks = 0;

    /// Busy part of all ranks' time until the end.
    double utilisation() const { return end_s > 0 ? busy_s / (end_s * ranks) : 0; }
};

/// `hosts` has a number for the host of each rank. O(log) a task and its ranks, beside what the
/// scheduler takes. Throws InvalidArgument for a task that is too wide.
Simulated simulate(const std::vector<SimulatedTask>& tasks, const std::vector<int>& hosts,
                   const SchedulerOptions& options = {});

/// No scheduler can have the tasks end before this (see bound_s()).
double earliest_end_s(const std::vector<SimulatedTask>& tasks, int ranks);

/// A load as in the paper's Figure 6: a round has one task of each width 1, 2, 4 … `ranks`, which
/// takes 0.5 to 1.5 s; all arrive at once, in random order. The scheduler's estimates are off by up
/// to `error` of the duration (0.3: 30 %), or there are none (unknown).
std::vector<SimulatedTask> varying_widths(int ranks, int rounds, double error, unsigned seed);

/// Tasks of the same widths and durations that keep arriving at random times (Poisson) for
/// `lasts_s`, as much work as `load` of the ranks can do. No estimates.
std::vector<SimulatedTask> arriving(int ranks, double load, double lasts_s, unsigned seed);

/// The parameter sweep of the paper's Figure 9: 48 tasks on 16 to 512 ranks (1 to 128 blocks each)
/// whose run time in seconds is, by assumption,
///     200 · 16 / ranks + 0.05 · ranks · (1 + |log2(blocks) - 5| / 5),
/// with estimates that are off by up to `error`.
std::vector<SimulatedTask> parameter_sweep(double error, unsigned seed);

}  // namespace fluvial::flow
