// SPDX-License-Identifier: Apache-2.0
/// Which task starts when, and on which ranks: pure, without a clock, MPI or I/O. The server of a
/// pool drives it, and so does the simulation.
///
/// | what comes first             | and then |
/// |------------------------------|----------|
/// | a higher priority            | a lower one, where it delays no task of the higher |
/// | of one priority, the overdue | by age; the first that does not fit has a reservation |
/// | what the plan says           | as long as durations are known (plan.hpp) |
/// | the longest, then the widest | whatever fits |
///
/// A task is overdue once it has waited for longer than its age limit. A reservation is the time at
/// which, by what is known of the tasks that run, enough ranks will be idle; others start before
/// then only if they end in time, or on ranks that will be left over (backfill, as EASY does).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fluvial/flow/cost_book.hpp"
#include "fluvial/flow/host_shares.hpp"
#include "fluvial/flow/idle_ranks.hpp"
#include "fluvial/flow/request.hpp"
#include "fluvial/flow/waiting_tasks.hpp"

namespace fluvial::flow {

struct SchedulerOptions {
    /// Seconds after which a task is overdue. Unknown: a quarter more than all work that
    /// waits when it comes should take on all ranks, and a typical task.
    double age_limit_s = unknown_s;
    /// Steps of list scheduling that one plan may cost at most, some nanoseconds each; 0: no plans.
    /// All plans together cost a hundredth of the time.
    std::uint64_t planning_effort = 4'000'000;
    /// Tasks that a team of one or two ranks may be given at once, as many as lately took less than
    /// prefetch_s together; one, when that would be few. Wider teams have one at a time: a rank
    /// that is ahead could send what another one takes for a message of the task before.
    int prefetch = 1;
    double prefetch_s = 1e-3;
    /// What each host has beside ranks, by name: GPUs, bytes of memory, licences.
    std::map<std::string, double> resources = {};
};

struct Start {
    TaskId task = 0;
    std::vector<int> ranks;  ///< ascending
};

class Scheduler {
  public:
    /// `hosts` has a number for the host of each rank.
    explicit Scheduler(const std::vector<int>& hosts, const SchedulerOptions& options = {});

    /// Ranks that have not been retired.
    int ranks() const { return ranks_; }
    /// Ranks of the host that has the most: no task with needs can be wider.
    int widest_host() const { return shares_.widest(); }
    std::size_t waiting() const { return waiting_.count(); }
    std::size_t running() const { return running_.size(); }

    /// Throws InvalidArgument when no team can ever be as wide as the task wants. O(1) in the
    /// number of tasks.
    void add(const Request& request, double now_s);
    /// A task that has not started will not.
    void remove(TaskId task) { waiting_.remove(task); }
    /// What is to start now.
    std::vector<Start> next(double now_s);
    /// A task has ended after `took_s`, and its ranks are idle; unknown_s: nothing is learned.
    void finish(TaskId task, double took_s);
    /// A task that was sent ahead has not begun, because the one before it lasts: it waits again,
    /// as if it had not started, and its rank gets nothing more before that one has ended.
    void take_back(const Request& request);
    /// The rank gets no task any more. Returns the tasks that now are too wide, or are to run
    /// strictly where no rank is left: they will not start.
    std::vector<TaskId> retire(int rank);

  private:
    struct Running {
        std::vector<int> ranks;  ///< no other task gets them
        int width = 0;           ///< of the team
        std::uint32_t kind = 0;
        bool brief = false;  ///< one of several that the team may have
        double cost_s = unknown_s;
        bool has_estimate = false;
        std::multiset<std::pair<double, int>>::iterator time;  ///< in ends_, or in begins_
        Needs needs = {};
        WaitingTask sent_ahead = {};  ///< as it waited, if it is brief
    };
    /// For the first task that does not fit.
    struct Reservation {
        double at_s = 0;
        int left_over = 0;
        double priority = 0;
        bool overdue = false;
    };
    using Batches = std::vector<Batch*>;

    double age_limit_s() const;
    void start_group(const Batches& group, double now_s, std::vector<Start>& starts);
    bool start_first(Batch& batch, double now_s, std::vector<Start>& starts);
    bool start_ahead(Batch& batch, std::vector<Start>& starts);
    void begin(Batch& batch, std::vector<int> ranks, double now_s, std::vector<Start>& starts);
    bool room_for(Batch& batch, int width, double now_s);
    void reserve(const Batch& batch, int wanted, double now_s);
    void wait_for_host(const Batch& batch, double now_s);
    bool brief(const Batch& batch) const;
    int depth(const Batch& batch) const;
    bool room() const { return !room_[0].empty() || !room_[1].empty(); }
    void make_room(int first, std::size_t width);
    int width_for(const Widths& widths) const;
    bool nothing_can_start() const;
    void replan(const Batches& group, double now_s);
    Batches planned_before(const Batches& group);
    std::vector<Batch*> overdue(const Batches& group, double now_s);

    SchedulerOptions options_;
    int ranks_;
    IdleRanks idle_;
    HostShares shares_;
    CostBook book_;
    WaitingTasks waiting_;
    std::unordered_map<TaskId, Running> running_;
    // Of tasks that are not brief, with the number of their ranks:
    std::multiset<std::pair<double, int>> ends_;    ///< expected
    std::multiset<std::pair<double, int>> begins_;  ///< of those without an estimate
    // Teams with brief tasks, each by its first rank:
    std::vector<int> brief_tasks_;            ///< that each has been given
    std::vector<int> brief_partners_;         ///< the other rank of a team of two
    int brief_ranks_ = 0;                     ///< of all of them
    std::array<std::deque<int>, 2> room_;     ///< teams of one, of two, which may have another
    std::vector<std::uint8_t> in_room_;       ///< of that width; 0: of none
    std::optional<Reservation> reservation_;  ///< within next()
    std::deque<Batch*> plan_;                 ///< of the highest priority
    bool plan_is_best_ = true;                ///< no other can be better
    std::uint64_t planned_edition_ = 0, planned_generation_ = 0;
    std::uint64_t added_ = 0, planned_added_ = 0;
    std::uint64_t rounds_since_plan_ = 0;
    double planned_s_ = -std::numeric_limits<double>::infinity();
};

}  // namespace fluvial::flow
