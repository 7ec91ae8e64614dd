// SPDX-License-Identifier: Apache-2.0
/// Tasks that start together.
#pragma once

#include <memory>
#include <vector>

#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

/// To the scheduler it is one task, as wide as all together.
struct Server::Gang {
    std::vector<TaskId> members;
    TaskId scheduled = 0;                    ///< the one that the scheduler knows it by
    int ready = 0;                           ///< have their inputs
    int running = 0;                         ///< have not come back
    double took_s = 0;                       ///< the longest that has
    std::optional<TaskFailure> broken = {};  ///< why it will not start
};

}  // namespace fluvial::flow
