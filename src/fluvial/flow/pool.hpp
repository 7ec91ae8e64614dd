// SPDX-License-Identifier: Apache-2.0
/// Tasks of one or more ranks that fire when their inputs are ready.
///
///     flow::Functions functions;
///     functions.add("norm", norm, flow::Runs::Parallel);     // the same on all ranks
///     flow::Pool pool(mpi::Comm::duplicate(MPI_COMM_WORLD), functions);
///     if (pool.leads()) {
///         flow::TaskOptions wide;
///         wide.ranks = {4, 4, {}};
///         flow::Future norm = pool.submit("norm", {pool.submit("load", {name})}, wide);
///         use(norm.get());
///     }
///     pool.close();
///
/// After the paper of J. M. Wozniak et al., Dataflow Coordination of Data-Parallel Tasks via MPI
/// 3.0, EuroMPI 2013.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fluvial/base/movable.hpp"
#include "fluvial/flow/function.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/flow/scheduler.hpp"
#include "fluvial/flow/task.hpp"
#include "fluvial/flow/timeline.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::flow {

/// For ranks that are told by messages what to do next.
inline SchedulerOptions prefetching() {
    return {.prefetch = 256, .prefetch_s = 2e-3};
}

struct PoolOptions {
    SchedulerOptions scheduler = prefetching();
    double stall_timeout_s = 30;  ///< without a heartbeat, and a rank is lost; infinity: never
    /// A task has failed, or outlived its limit, and some of its ranks have not come back for this
    /// long: they are lost.
    double stuck_after_s = 30;
    /// Rank 0 runs tasks, too, in a thread of its own. Needs MPI_THREAD_MULTIPLE.
    bool lead_works = false;
    /// Ranks that serve others, the lead among them, or servers_by_host. Those other than the lead
    /// run no tasks; for large jobs, and to notice ranks that are lost on other hosts where no
    /// heartbeats come through.
    int servers = 1;
    bool collects_done = false;  ///< for wait_for_some(); without it no task can continue
    bool trace = false;          ///< for timeline(); the same on all ranks
    /// A task of several ranks fails that leaves a message in its communicator, if it has come by
    /// then.
    bool audits = false;
    /// When a task of one rank is cancelled, or has outlived its limit, and has not asked
    /// (task_cancelled()) for half a second, the thread that runs it gets this signal, again and
    /// again until its handler calls take_cancellation(); 0: none. In
    /// pools of several ranks, with MPI_THREAD_MULTIPLE.
    int cancel_signal = 0;
};

struct PoolState;

/// The result of a task, once it is there. May be copied; any thread may ask. One of no task, made
/// without one or moved from, throws InvalidArgument.
class Future {
  public:
    Future() = default;

    bool done() const { return held().done(); }
    /// Blocking until the task is done; serves the pool meanwhile. Throws what the task threw: the
    /// class of fluvial::Error, else Error; PeerLost or PeerStalled when a rank of it was lost,
    /// TimedOut when it outlived its limit. A result that has stayed on its rank
    /// (TaskOptions::keep) is fetched, once, when that rank comes to it; Error when the pool is
    /// closed before.
    const Bytes& get() const;
    /// The task will not begin. False when it has, unless `running`: then get() throws
    /// TaskCancelled at once, and the task's ranks are told (task_cancelled()). They are used again
    /// when they come back.
    bool cancel(bool running = false) const;
    /// What each rank of the team returned, which stays there (TaskOptions::keep_parts), by its
    /// rank; none of other tasks. They are done when the task is.
    std::vector<Future> parts() const;
    const FuturePtr& state() const { return state_; }

  private:
    friend class Pool;
    Future(FuturePtr state, std::shared_ptr<PoolState> pool)
        : state_(std::move(state)), pool_(std::move(pool)) {}
    const FutureState& held() const;

    FuturePtr state_;
    std::shared_ptr<PoolState> pool_;
};

/// What a task is given: bytes, or the result of another task of the same pool.
struct Argument {
    Input input;
    Argument(Bytes bytes) : input(std::make_shared<const Bytes>(std::move(bytes))) {}  // NOLINT
    Argument(std::shared_ptr<const Bytes> shared) : input(std::move(shared)) {}        // NOLINT
    Argument(const Future& future) : input(future.state()) {}                          // NOLINT
    Argument(const FuturePtr& future) : input(future) {}                               // NOLINT
    /// Each rank of the team gets the part of its own number; it starts on the ranks that keep
    /// them where these are idle.
    static Argument own_part(const Future& of) { return Argument(OwnPart{of.state()}); }
    explicit Argument(OwnPart own) : input(std::move(own)) {}
};

/// Rank 0 leads: it submits tasks and runs none, unless it is the only one or lead_works. All
/// others run tasks, apart from servers (PoolOptions::servers). Calls of a pool that has been moved
/// from throw InvalidArgument.
class Pool {
  public:
    /// Collective over `comm`, which the pool closes, blocking. Throws InvalidArgument on all ranks
    /// when they have other functions or options.
    Pool(mpi::Comm comm, Functions functions, const PoolOptions& options = {});
    /// A pool that was not closed, because of an exception, is broken off: the others are told.
    ~Pool();
    Pool(Pool&&) noexcept;
    /// Breaks off a pool that was not closed, as its destructor does.
    Pool& operator=(Pool&&) noexcept;

    bool leads() const;
    int rank() const;
    int size() const;
    /// Number of ranks that run tasks.
    int workers() const;
    /// Throws InvalidArgument in a child by fork(), as all calls do that ask for tasks or wait for
    /// them: the tasks are those of its parent. close() does nothing there.
    void check_process() const;
    /// Those ranks, in order.
    const std::vector<int>& worker_ranks() const;

    /// By the lead rank alone, from any thread. Local, does not block; costs the same however many
    /// tasks wait. Throws InvalidArgument, before anything runs, for an unknown function, a serial
    /// one on several ranks, widths that the pool cannot have, a place that is none, and an input
    /// that is the future of no task.
    Future submit(const std::string& function, std::vector<Argument> arguments,
                  const TaskOptions& options = {});

    /// A task of submit_together().
    struct Wanted {
        std::string function;
        std::vector<Argument> arguments;
        TaskOptions options = {};
    };
    /// Tasks that start at the same time, each on a team of its own, because they wait for each
    /// other: a writer and a reader of a stream. None starts before all have their inputs and there
    /// are ranks for all; their ranks are used again when all have come back. When one fails or is
    /// cancelled before that, the others fail by the same. By the lead rank alone, local. Throws
    /// InvalidArgument, before anything runs, as submit() does, and for several widths, places,
    /// retries, and more ranks than the pool has.
    std::vector<Future> submit_together(std::vector<Wanted> tasks);

    /// A future that is done, to be an input of tasks: its result is known, or why there is none.
    Future known(Bytes result);
    Future failed(TaskFailure failure);
    /// The future of a task that continues gets the result of the other. From any thread; local.
    void follow(const FuturePtr& future, const FuturePtr& other);

    /// What other threads do for the lead's: turns of the server until a task is done, a thread
    /// calls wake(), or `timeout_s` is over. Returns the futures that are done since the last call,
    /// of a pool with collects_done, and those of tasks that continue: these are not done, have a
    /// continuation, and wait for follow(). Needs MPI_THREAD_MULTIPLE unless it is the only thread
    /// that calls MPI.
    std::vector<FuturePtr> wait_for_some(double timeout_s);
    void wake();
    bool cancel(const FuturePtr& future, bool running = false);
    /// What Future::get() returns and throws, of a future that is done and that other threads may
    /// ask for, too; null when a result that has stayed on its rank has not come in `timeout_s`.
    std::shared_ptr<const Bytes> result(const FuturePtr& future, double timeout_s);

    /// What the ranks have done until now, by the lead rank alone, also after close(). From any
    /// thread; local. Throws InvalidArgument in a pool without PoolOptions::trace.
    Timeline timeline() const;

    /// Collective, blocking: on the lead until all tasks are done, on all other ranks until the
    /// lead closes; they run tasks in it. Throws PeerLost or PeerStalled on the lead when a rank
    /// was lost, with its tasks; on others when the lead was.
    void close();
    /// The same, but tasks that have not begun are cancelled.
    void cancel_and_close();

  private:
    Movable<PoolState> state_;
};

}  // namespace fluvial::flow
