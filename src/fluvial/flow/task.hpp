// SPDX-License-Identifier: Apache-2.0
/// What a program says of a task, and what becomes of it.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/flow/function.hpp"
#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

struct TaskOptions {
    Widths ranks = {};              ///< how many, or the numbers to choose from
    double priority = 0;            ///< higher ones first
    std::optional<Near> near = {};  ///< ranks of the pool
    double cost_s = unknown_s;      ///< an estimate of its duration
    /// From its start; then it has failed. Its ranks are used again when they have come back.
    double timeout_s = std::numeric_limits<double>::infinity();
    int retries = 0;        ///< after a failure, on another rank where there is one
    std::string kind = {};  ///< tasks of one kind take alike long; empty: those of one function do
};

enum class Phase { Waiting, Running, Done };

/// Shared by who waits for the task, by the server, and by tasks whose input it is.
struct FutureState {
    TaskId task = 0;
    std::atomic<Phase> phase{Phase::Waiting};
    // Once it is Done these do not change:
    std::shared_ptr<const Bytes> result;
    std::optional<TaskFailure> failure;
    bool cancelled = false;
    /// Set before wait_for_some() returns a future that is not done.
    std::shared_ptr<const Bytes> continuation;
    // Of the server alone:
    std::vector<TaskId> dependents;

    bool done() const { return phase.load(std::memory_order_acquire) == Phase::Done; }
};
using FuturePtr = std::shared_ptr<FutureState>;

/// Bytes, or what another task will return.
using Input = std::variant<std::shared_ptr<const Bytes>, FuturePtr>;

}  // namespace fluvial::flow
