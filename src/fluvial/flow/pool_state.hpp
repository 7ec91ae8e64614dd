// SPDX-License-Identifier: Apache-2.0
/// What a pool is on one rank.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fluvial/base/fork.hpp"
#include "fluvial/flow/crew.hpp"
#include "fluvial/flow/members.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/relay.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/flow/server.hpp"
#include "fluvial/flow/worker.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::flow {

struct PoolState {
    PoolState(mpi::Comm own, Functions wanted, const PoolOptions& wishes);
    /// Has the lead's tasks run in a thread, which keeps `self`.
    void start_own_worker(const std::shared_ptr<PoolState>& self);
    int workers() const { return static_cast<int>(roles.workers().size()); }
    void check_process() const { made.check("the pool"); }
    /// Of a rank that does not lead, until the lead says stop.
    void serve();

    /// One turn of the server, unless one is under way (another thread's, or further up); in a pool
    /// of one rank also a task.
    bool turn();
    /// Blocking, with turns in between.
    void wait(const std::function<bool()>& done);
    void stop();
    void end();
    bool end_own_worker();
    void abandon() noexcept;

    mpi::Comm comm;
    Functions functions;
    PoolOptions options;
    Members members;
    Roles roles;
    Crew crew;
    std::unique_ptr<Server> server;       ///< of the lead
    std::unique_ptr<Worker> worker;       ///< of ranks that run tasks, other than a lead alone
    std::unique_ptr<Relay> relay;         ///< of servers that do not lead
    std::thread own_worker;               ///< of a lead that works
    std::exception_ptr own_error;         ///< that ended it
    std::atomic<bool> own_failed{false};  ///< `own_error` is set
    std::atomic<bool> own_ended{false};
    std::recursive_mutex mutex;            ///< of the server
    std::atomic<bool> turning{false};      ///< under it
    std::atomic<bool> running_own{false};  ///< a task, in a pool of one rank
    std::mutex told_mutex;
    std::vector<FuturePtr> told;  ///< done, and not asked for yet
    std::atomic<TaskId> last_task{0};
    std::atomic<bool> woken{false};
    bool closed = false;
    MadeHere made;
    /// Last: it is gone before what it serves.
    progress::Served served{[this] { return server && turn(); }, true};
};

}  // namespace fluvial::flow
