// SPDX-License-Identifier: Apache-2.0
/// A rank of a pool that runs tasks.
///
/// While a task runs that lasts, a thread of the process looks after what else there is to do:
/// reports of tasks before it leave, and tasks that were sent ahead go back to the server, which
/// sends them elsewhere. That thread and the task's own, which asks whether it was cancelled, hold
/// a lock meanwhile. Between two tasks the state is the serving thread's alone. Where MPI allows no
/// second thread, that is done while the task waits in a call of the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <pthread.h>

#include "fluvial/flow/crew.hpp"
#include "fluvial/flow/members.hpp"
#include "fluvial/flow/messages.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/flow/task_messages.hpp"

namespace fluvial::flow {

class Worker {
  public:
    /// All outlive it. `server`: the rank that sends it orders and gets its reports, the lead (rank
    /// 0) or a relay.
    /// `cancel_signal`: as PoolOptions has it.
    Worker(const mpi::Comm& comm, Crew& crew, Members& members, int server, int cancel_signal)
        : comm_(comm),
          crew_(crew),
          members_(members),
          server_(server),
          cancel_signal_(cancel_signal),
          messages_(comm) {}

    /// Blocking until the lead says stop; then everything has been sent. Throws PeerLost when the
    /// lead's process dies, and what check_interrupt throws.
    void serve();
    void abandon() { messages_.abandon(); }
    /// Some rank of the pool was lost, as the server said when it stopped.
    bool any_lost() const { return any_lost_; }

  private:
    class Waits;
    class WaitsFor;
    class Attendant;
    /// Reports of brief tasks leave together.
    struct Outbox {
        ByteWriter bytes;
        int count = 0;
        std::int64_t first_ns = 0;
    };
    /// A task of which this is the first rank: what is known, and which ranks have not come back.
    struct Gathering {
        std::optional<Report> done;
        Keeps keeps = Keeps::Nothing;
        std::vector<int> came, team;
    };

    void begin_task(const Order& order);
    void end_task();
    std::optional<std::int64_t> attend();
    void attend_to_task();
    void signal_if_deaf();
    void give_back_orders();
    bool take_orders();
    bool hears_of_cancel(TaskId task);
    void lose(int rank);
    bool take_notes();
    void carry_out(Order order);
    void run(Order& order);
    void give(const Order& order);
    void keep(Report& done, TaskId as);
    std::optional<TaskFailure> bring_inputs(Order& order);
    std::shared_ptr<const Bytes> brought(const Order::Input& input);
    bool take_inputs();
    void wait_until(const std::function<bool()>& done);
    void note(Report note, int from);
    void end_if_whole(std::map<TaskId, Gathering>::iterator task);
    void end_what_is_whole();
    void put(int to, int tag, const Report& report);
    void flush();
    bool work();

    const mpi::Comm& comm_;
    Crew& crew_;
    Members& members_;
    int server_;  ///< the lead, when the relay is lost
    int cancel_signal_;
    TaskMessages messages_;
    std::deque<Order> orders_;
    std::map<std::pair<int, int>, Outbox> outboxes_;  ///< by rank and tag
    std::uint32_t last_function_ = 0;
    double last_took_s_ = 0;
    TaskId running_ = 0;          ///< the task, or 0
    std::set<TaskId> cancelled_;  ///< of what runs, and of orders
    std::map<TaskId, Gathering> gathering_;
    std::set<int> lost_;                                   ///< ranks
    std::map<TaskId, std::shared_ptr<const Bytes>> kept_;  ///< messages of results, by their tasks
    /// From other ranks, one for each task here that has it as input and has not begun.
    std::multimap<TaskId, std::shared_ptr<const Bytes>> brought_;
    bool orphaned_ = false;  ///< the relay is lost: the lead will say stop
    bool stopped_ = false;
    bool any_lost_ = false;
    Attendant* attendant_ = nullptr;      ///< within serve()
    std::mutex mutex_;                    ///< of the state, while a task runs
    std::atomic<std::uint64_t> runs_{0};  ///< tasks that have begun, plus those that have ended
    std::atomic<bool> attended_{false};   ///< the attendant looks soon
    pthread_t thread_ = {};               ///< that serves
    bool alone_ = false;                  ///< no other rank has a part of the task that runs
    /// Until the task has heard it, the thread gets signals.
    std::atomic<bool> signalled_{false};
    TaskId cancel_heard_by_ = 0;  ///< a task that asked: it ends as it likes
    // Of the attendant alone:
    std::uint64_t seen_runs_ = 0;
    int quiet_looks_ = 0;
    TaskId cancelled_task_ = 0;            ///< the last that ran on when it was cancelled ...
    std::int64_t cancelled_since_ns_ = 0;  ///< ... as was seen then
    bool was_signalled_ = false;           ///< for which it got signals
    std::int64_t look_again_ns_ = 0;
    std::exception_ptr attend_error_;  ///< to be thrown when the task has ended
};

}  // namespace fluvial::flow
