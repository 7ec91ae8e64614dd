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

}  // namespace fluvial::flow
