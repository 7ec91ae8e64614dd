// SPDX-License-Identifier: Apache-2.0
/// What a program says of a task, and what becomes of it.
#pragma once

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/flow/function.hpp"
#include "fluvial/flow/kept.hpp"
#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

struct FutureState;
using FuturePtr = std::shared_ptr<FutureState>;

struct TaskOptions {
    Widths ranks = {};              ///< how many, or the numbers to choose from
    double priority = 0;            ///< higher ones first
    std::optional<Near> near = {};  ///< ranks of the pool
    double cost_s = unknown_s;      ///< an estimate of its duration
    /// From its start; then it has failed. Its ranks are used again when they have come back.
    double timeout_s = std::numeric_limits<double>::infinity();
    int retries = 0;  ///< after a failure, on another rank where there is one
    /// Its result stays on its (first) rank: tasks that have it as input start there if they can,
    /// or else get it from there; Future::get() fetches it. It is freed with its last future, and
    /// lost with its rank. In a pool of one rank it means nothing.
    bool keep = false;
    /// What each rank of its team returns stays there: Future::parts(). It has one width then. The
    /// result of the task is its first part.
    bool keep_parts = false;
    /// Of several ranks: the communicator is the task's alone, and gone with it. Else later tasks
    /// of the same team meet messages and attributes that it leaves.
    bool fresh = false;
    std::string kind = {};   ///< tasks of one kind take alike long; empty: those of one function do
    bool exclusive = false;  ///< its ranks are on one host, where no other task runs meanwhile
    /// Amounts of what hosts have (SchedulerOptions::resources), for the task as a whole, all of
    /// whose ranks then are on one host.
    std::map<std::string, double> resources = {};
    /// Instead of near->rank: where this task ran. It is waited for. One that failed says nothing.
    FuturePtr near_task = {};

    /// Two unknown costs are the same.
    bool operator==(const TaskOptions& other) const;
};

enum class Phase : std::uint8_t { Waiting, Running, Done };

/// Shared by the thread that waits for the task, by the server, and by tasks whose input it is.
/// Programs keep millions of them.
struct FutureState {
    TaskId task = 0;
    std::atomic<Phase> phase{Phase::Waiting};
    // Once it is Done these do not change:
    bool cancelled = false;
    std::int32_t place = -1;  ///< the first rank of the pool that ran it
    std::shared_ptr<const Bytes> result;
    std::shared_ptr<const TaskFailure> failure;  ///< null: there is a result
    /// What only some tasks have.
    struct Ties {
        std::vector<TaskId> dependents;  ///< tasks that wait for it; of the server alone
        /// Set before wait_for_some() returns a future that is not done.
        std::shared_ptr<const Bytes> continuation;
        std::shared_ptr<Kept> kept;    ///< instead of a result; once it is Done
        std::vector<FuturePtr> parts;  ///< one for each rank, with the numbers after the task's own
    };
    std::unique_ptr<Ties> ties;

    /// Makes the ties when there are none. By the server alone.
    Ties& make_ties() {
        if (!ties) {
            ties = std::make_unique<Ties>();
        }
        return *ties;
    }

    /// With TaskOptions::keep_parts; else none.
    std::span<const FuturePtr> parts() const {
        return ties ? std::span<const FuturePtr>(ties->parts) : std::span<const FuturePtr>();
    }
    bool done() const { return phase.load(std::memory_order_acquire) == Phase::Done; }
};

/// As results are kept; all empty ones are the same.
std::shared_ptr<const Bytes> shared_bytes(Bytes bytes);

/// Of a task that keeps its parts: each rank of the team gets the one with its own number.
struct OwnPart {
    FuturePtr of;
};

/// Bytes, or what another task will return.
using Input = std::variant<std::shared_ptr<const Bytes>, FuturePtr, OwnPart>;

/// The future that an input is of; null for bytes.
inline const FuturePtr* future_of(const Input& input) {
    const auto* const own = std::get_if<OwnPart>(&input);
    return own != nullptr ? &own->of : std::get_if<FuturePtr>(&input);
}

}  // namespace fluvial::flow
