// SPDX-License-Identifier: Apache-2.0
/// The side of a pool that decides: takes tasks, sends them to ranks when their inputs are there,
/// and keeps what comes back.
///
/// | event                              | what happens                                         |
/// |------------------------------------|------------------------------------------------------|
/// | a task is submitted                | waits for its inputs, then in the scheduler          |
/// | an input has failed                | the task fails by the same                           |
/// | Done                               | the future has its result; the ranks are idle        |
/// | Done, and the rank keeps the       | the future refers to it (kept.hpp)                   |
/// | result                             |                                                      |
/// | Done, and it continues             | the ranks are idle; its result is that of the task   |
/// |                                    | that follow() names                                  |
/// | Unbegun: a rank has a task that    | it waits in the scheduler again, before others       |
/// | lasts, and others behind it        |                                                      |
/// | Failed from one rank of a team     | the future fails at once, or the task is tried again |
/// |                                    | when all its ranks have come back                    |
/// | a task outlives its limit          | the same                                             |
/// | a rank dies or is stopped          | the same for all its tasks; it gets no others. What  |
/// |                                    | it cannot have begun waits in the scheduler again    |
/// | the first rank of a team dies      | the others tell the server when they have come back  |
/// | ranks of a task that has failed,   | they are lost to the pool, which goes on with the    |
/// | or outlived its limit, do not come | rest                                                 |
/// | back for stuck_after_s             |                                                      |
/// | no rank is left that could run a   | it fails                                             |
/// | task                               |                                                      |
/// | all of a gang have their inputs    | they start together, and their ranks are idle again  |
/// |                                    | when all have come back                              |
/// | one of a gang fails before that    | all fail by the same                                 |
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/flow/members.hpp"
#include "fluvial/flow/messages.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/flow/scheduler.hpp"
#include "fluvial/flow/server_messages.hpp"
#include "fluvial/flow/task.hpp"
#include "fluvial/flow/team_cache.hpp"
#include "fluvial/flow/timeline.hpp"

namespace fluvial::flow {

class Server {
  public:
    struct Gang;
    struct Limits {
        double stuck_after_s = 0;  ///< as PoolOptions has them
        double stall_timeout_s = 0;
    };
    /// A task as it was submitted.
    struct Submission {
        FuturePtr future;
        std::uint32_t function = 0;
        std::vector<Input> inputs;
        TaskOptions options;
        std::shared_ptr<Gang> gang = nullptr;
    };

    /// `told` is called with each future that is done or continues, within turn(), and returns
    /// whether the program will learn of it. Everything given outlives it. If the server's own rank
    /// runs tasks, it has a Worker in another thread, unless it is the only one: then see
    /// own_order().
    Server(const mpi::Comm& comm, const Functions& functions, Members& members, const Roles& roles,
           const SchedulerOptions& options, const Limits& limits,
           std::function<bool(const FuturePtr&)> told);

    int widest_host() const { return widest_host_; }
    /// From any thread; does not wait for a turn.
    void submit(Submission submission);
    /// The same of tasks that start together, or not at all; each has its own team. They want one
    /// width each, no place and no retries.
    void submit_together(std::vector<Submission> submissions);
    /// From any thread; does not wait for a turn. The result of a task that continues is `other`'s.
    void follow(FuturePtr future, FuturePtr other);
    /// From any thread; does not wait for a turn. Some turns later `kept` has the result, or the
    /// reason why not.
    void fetch(std::shared_ptr<Kept> kept);

    // One thread at a time, which the caller sees to:

    /// Does what there is to do now. Local, does not block; true when something moved.
    bool turn();
    /// In a pool of one rank, what this one is to run next, for the thread that calls turn().
    std::optional<Order> own_order();
    void take_own(Report report) {
        const TaskId task = report.task;
        handle(0, std::move(report));
        own_cancelled_.erase(task);
    }
    /// A task that has not begun will not. False when it has, unless those that run are meant, too:
    /// then nobody waits for it any more, and its ranks are told.
    bool cancel(const FuturePtr& future, bool running = false);
    /// In a pool of one rank, whether the task that it runs was cancelled meanwhile, or has
    /// outlived its time limit, which nobody else can see there.
    bool own_is_cancelled(TaskId task);
    void cancel_all();
    /// Everything that was submitted is done, and all ranks that are not lost have come back.
    bool at_rest();
    /// Tells all ranks to stop; to be followed by turns until all have said goodbye().
    void stop();
    /// The same without waiting for anybody: the program has broken off.
    void break_off(const TaskFailure& why);
    /// All ranks have, that can.
    bool goodbye() const;
    /// Fails everything that is not done.
    void give_up(const TaskFailure& why);
    /// The ranks that have been lost, and how.
    const std::map<int, TaskFailure>& lost() const { return lost_; }
    /// From now on; before any task.
    void keep_timeline(std::vector<std::int64_t> clock_offsets_ns) {
        timeline_.emplace(std::move(clock_offsets_ns));
    }
    /// The tasks that have come back until now; null without keep_timeline().
    const Timeline* timeline() const { return timeline_ ? &*timeline_ : nullptr; }
    void abandon() { messages_.abandon(); }

  private:
    struct Following {
        FuturePtr future;
        FuturePtr other;
    };
    struct Task {
        FuturePtr future;
        std::uint32_t function = 0;
        std::uint32_t kind = 0;
        std::vector<Input> inputs;
        std::shared_ptr<const TaskOptions> options;  ///< shared by tasks that have the same
        int inputs_missing = 0;
        int tries = 0;
        int avoid = -1;
        bool in_scheduler = false;
        bool over = false;   ///< its future is done, or it will be tried again
        bool again = false;  ///< when its ranks have come back
        bool continues = false;
        std::vector<int> team;   ///< ranks of the pool, while it runs
        std::uint64_t sent = 0;  ///< greater than that of what was sent before it
        std::int64_t began_ns = 0;
        std::int64_t over_ns = 0;
        std::shared_ptr<Gang> gang = nullptr;  ///< starts with this task, or it with them
    };
    using Tasks = std::unordered_map<TaskId, Task>;

    int worker_of(int rank) const { return roles_.worker_of(rank); }
    int rank_of(int worker) const { return roles_.rank_of(worker); }
    bool workers_are_out() const;
    void stop_relays();
    void tell_relays_to_stop();
    double now_s() const { return static_cast<double>(now_ns()) * 1e-9; }

    bool take_submissions();
    void accept(Submission submission);
    void accept(const Following& following);
    std::shared_ptr<const TaskOptions> shared_options(TaskOptions options);
    const std::string& kind_of(const Task& task) const;
    std::uint32_t number_of(const std::string& kind);
    Needs needs_of(const TaskOptions& options) const;
    Request request_of(const Task& task) const;
    void schedule(Task& task);
    bool unstart(Tasks::iterator task);
    void take_back(Tasks::iterator task);
    bool take_reports();
    void handle(int from, Report report);
    void finish(Tasks::iterator task, int from, Report report);
    void go_on(Task& task, Bytes message);
    void start(const Start& start);
    void start_on(Task& task, const std::vector<int>& workers);
    void wait_for(Task& task, const FuturePtr& other);
    void schedule_together(Task& task);
    void start_together(Gang& gang, const Start& start);
    void break_up(const Task& task);
    bool take_own_order_back(TaskId task);
    bool cancel_running(Task& task);
    void call_back(const Task& task);
    void fail_running(Task& task, const TaskFailure& failure);
    bool all_are_back(const Task& task, double& took_s);
    void prepare_team(const std::vector<int>& workers, TeamNumber& team);
    void fail(Task& task, const TaskFailure& failure);
    bool is_late(const Task& task) const;
    TaskFailure outlived(const Task& task) const;
    TaskFailure stuck(const Task& task, int rank) const;
    int least_width(const Task& task) const;
    void settle(Task& task, const TaskFailure& failure, bool cancelled = false) {
        settle(task, nullptr, std::make_shared<const TaskFailure>(failure), cancelled);
    }
    void settle(Task& task, std::shared_ptr<const Bytes> result,
                std::shared_ptr<const TaskFailure> failure = nullptr, bool cancelled = false);
    void tell_dependents(FutureState& future);
    void settle_like(Task& task, const FutureState& other);
    void release(Tasks::iterator task, double took_s);
    bool look_at_limits();
    /// `begun`: the task that the rank has begun last, 0 for none, where that is known and it will
    /// begin no other.
    void lose(const TaskFailure& lost, std::optional<TaskId> begun);
    void lose_relay(const TaskFailure& lost);
    void lose_worker(const TaskFailure& lost, std::optional<TaskId> begun);
    void schedule_elsewhere(std::vector<TaskId>& hit, TaskId begun);
    void lose_rank_of(Tasks::iterator task, int rank);
    void ask_who_comes_back(const Task& task);
    void come_back(Tasks::iterator task, int rank);
    void keep(Task& task, int rank);
    void drop_parts(const Task& task);
    void settle_parts(const FutureState& future);
    void put_own_parts(const Task& task, std::size_t number, std::vector<Order::View>& inputs);
    void have_given(const std::shared_ptr<Kept>& kept);
    bool take_fetched();
    void fail_fetches(const TaskFailure& lost);
    bool fail_without_inputs(const Start& start);
    std::shared_ptr<const TaskFailure> input_lost(const Task& task) const;
    std::vector<Order::View> inputs_for(const Task& task, const std::vector<int>& ranks);
    int keeper_of_input(const Task& task) const;
    void fail_too_wide(const std::vector<TaskId>& tasks);
    TaskFailure too_wide(int wanted) const;
    bool has_become_too_wide(const Task& task) const;
    ByteWriter& orders_for(int rank) { return orders_[static_cast<std::size_t>(rank)]; }
    /// As orders_for(), and marks the orders as to be sent.
    ByteWriter& orders_to(int rank) {
        if (orders_for(rank).size() == 0) {
            to_flush_.push_back(rank);
        }
        return orders_for(rank);
    }
    void flush();

    const Functions& functions_;
    Members& members_;
    const Roles& roles_;
    int widest_host_ = 0;  ///< ranks that run tasks, when the pool was made
    bool alone_;           ///< there is no other rank
    Limits limits_;
    std::function<bool(const FuturePtr&)> told_;
    ServerMessages messages_;
    std::map<std::string, double> resources_;  ///< of each host
    Scheduler scheduler_;
    TeamCache teams_;
    std::mutex mutex_;  ///< of what comes from other threads
    std::vector<Submission> submitted_;
    std::vector<Following> following_;
    std::vector<std::shared_ptr<Kept>> asked_;  ///< to be fetched
    std::vector<std::shared_ptr<Kept>> fetching_;
    std::shared_ptr<Droppings> droppings_ = std::make_shared<Droppings>();
    Tasks tasks_;
    std::shared_ptr<const TaskOptions> last_options_;  ///< of what was submitted last
    std::deque<FuturePtr> settled_;  ///< futures whose dependents have not been told
    std::unordered_map<std::string, std::uint32_t> kinds_;
    std::vector<ByteWriter> orders_;  ///< that have not left, by rank
    std::vector<int> to_flush_;
    std::set<TaskId> own_cancelled_;  ///< in a pool of one rank
    std::deque<Order> own_orders_;    ///< of a pool of one rank
    std::set<TaskId> limited_;        ///< running ones with a time limit, and those over
    /// Tasks whose first rank is lost, and their ranks that have not come back.
    std::map<TaskId, std::set<int>> awaited_;
    std::map<int, TaskFailure> lost_;
    std::optional<TaskFailure> first_lost_;
    std::uint64_t sent_ = 0;  ///< the last Task::sent
    std::optional<Timeline> timeline_;
    std::int64_t looked_ns_ = 0;
    std::set<int> byes_;  ///< ranks
    bool stopping_ = false;
    bool relays_stopping_ = false;
    bool changed_ = false;  ///< since the scheduler was asked
};

}  // namespace fluvial::flow
