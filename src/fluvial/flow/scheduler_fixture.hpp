// SPDX-License-Identifier: Apache-2.0
/// What tests of the scheduler ask it for, and see of what it starts.
#pragma once

#include <cstddef>
#include <vector>

#include "fluvial/flow/scheduler.hpp"

namespace fluvial::flow {

inline std::vector<int> one_host(int ranks) {
    return std::vector<int>(static_cast<std::size_t>(ranks), 0);
}

inline Request request(TaskId task, int width, double cost_s = unknown_s, double priority = 0) {
    Request made;
    made.task = task;
    made.widths = {width, width, {}};
    made.cost_s = cost_s;
    made.priority = priority;
    return made;
}

inline std::vector<TaskId> ids(const std::vector<Start>& starts) {
    std::vector<TaskId> found;
    for (const Start& start : starts) {
        found.push_back(start.task);
    }
    return found;
}

using Ids = std::vector<TaskId>;

/// Tasks from `first` to before `end`.
inline void add(Scheduler& scheduler, TaskId first, TaskId end, int width = 1) {
    for (TaskId task = first; task < end; ++task) {
        scheduler.add(request(task, width), 0);
    }
}

/// They run one by one: their kind is known to be brief then.
inline void run_briefly(Scheduler& scheduler, TaskId first, TaskId end) {
    for (TaskId task = first; task < end; ++task) {
        scheduler.add(request(task, 1), 0);
        scheduler.next(0);
        scheduler.finish(task, 1e-6);
    }
}

/// So many brief tasks are sent to a team at a time.
inline SchedulerOptions ahead(int tasks) {
    SchedulerOptions options;
    options.prefetch = tasks;
    return options;
}

}  // namespace fluvial::flow
