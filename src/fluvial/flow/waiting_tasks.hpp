// SPDX-License-Identifier: Apache-2.0
/// The tasks whose inputs are ready and that wait for ranks: pure.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <unordered_set>
#include <vector>

#include "fluvial/flow/cost_book.hpp"
#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

/// What tasks have in common between which the scheduler makes no difference: they start in the
/// order in which they came.
struct Likeness {
    double priority = 0;
    Widths widths = {};
    std::uint32_t kind = 0;
    int cost_step = 0;  ///< of the caller's estimate: durations within a twentieth are alike
    std::optional<Near> near = {};
    int avoid = -1;
    Needs needs = {};
    bool at_once = false;
    auto operator<=>(const Likeness&) const = default;
};

struct WaitingTask {
    TaskId task = 0;
    double since_s = 0;
    double due_s = std::numeric_limits<double>::infinity();  ///< from then on it is overdue
    double cost_s = 0;                                       ///< the caller's estimate
    double work = 0;  ///< estimated seconds times ranks, when it came
};

/// Tasks that are alike.
struct Batch {
    Likeness like;
    std::deque<WaitingTask> queue;
    double estimate_s = unknown_s;

    bool serial() const { return like.widths.most == 1; }
};

/// A plan has no more tasks than this.
constexpr std::size_t planned_tasks_max = 2048;

/// Adding a task costs the same however many wait.
class WaitingTasks {
  public:
    void add(const Request& request, double now_s, double work);
    /// The same of one that take() had returned as `task`: it is first in its batch.
    void put_back(const Request& request, const WaitingTask& task);
    /// Tasks that have been added since the last call are overdue `age_limit_s` after that.
    void limit_age(double age_limit_s);
    /// A task that waits waits no more. O(1); its place is cleared when its turn comes.
    void remove(TaskId task);
    /// The first of the batch starts.
    WaitingTask take(Batch& batch);
    /// What has been removed does not stand in front any more; true while anything waits there.
    bool clear_front(Batch& batch);

    std::size_t count() const { return count_; }
    bool any_parallel() const { return parallel_ > 0; }
    /// Estimated seconds times ranks of all that wait.
    double work() const { return work_; }
    /// Batches by priority, then the longest first, then the widest, then the oldest. Where more
    /// wait than can be planned, the widest come before the longest: narrow ones that took the
    /// ranks of a wide one would keep them, each followed by the next, until none is left. But what
    /// takes a quarter of the time of all that wait on `ranks` comes first. A batch of unknown
    /// length counts as `typical_s` long. Anew when batches have come, `book` has changed, or twice
    /// or half as much waits.
    const std::vector<Batch*>& in_order(const CostBook& book, int ranks);
    /// Changes when batches are forgotten that pointers may point to.
    std::uint64_t generation() const { return generation_; }
    /// Takes out all tasks of those batches.
    std::vector<TaskId> take_all(const std::function<bool(const Likeness&)>& of);

  private:
    Batch& batch_of(const Request& request);
    void count(const Batch& batch, double work);
    void refresh(const CostBook& book, int ranks);
    bool in_order_still(const CostBook& book) const;

    std::map<Likeness, Batch> batches_;
    Batch* last_ = nullptr;  ///< that something was added to
    std::vector<Batch*> order_;
    bool ordered_ = false;
    bool ordered_by_width_ = false;
    double ordered_work_ = 0;
    std::uint64_t edition_ = 0;
    std::uint64_t generation_ = 0;
    std::vector<WaitingTask*> new_;  ///< without a limit yet; deques keep their elements in place
    std::unordered_set<TaskId> removed_;
    std::size_t count_ = 0;
    std::size_t parallel_ = 0;
    double work_ = 0;
};

}  // namespace fluvial::flow
