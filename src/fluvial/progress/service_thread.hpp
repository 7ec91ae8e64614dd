// SPDX-License-Identifier: Apache-2.0
/// A thread of the process that comes back after a time: for what lies too long, when its producer
/// does something else, and for heartbeats.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace fluvial::progress {

/// The thread sleeps while it is not called. It begins with the first customer on its list and
/// takes no signals. A thread that calls MPI ends with the last customer; one that does not stays,
/// asleep: channels that come and go need not wait for it. Both end before MPI does.
class ServiceThread {
  public:
    class Customer {
      public:
        virtual ~Customer() = default;
        /// In the flusher's thread, or in the thread that calls serve(). Does not block (a lock
        /// that is held: next time). Returns after how many nanoseconds to come again; nothing:
        /// when called.
        virtual std::optional<std::int64_t> visit(const ServiceThread& by) = 0;
    };

    /// The one of the process that sends messages. It has a thread where MPI allows a second one;
    /// otherwise serve() does its work.
    static ServiceThread& of_process();
    /// The one whose visits call no MPI, so that nothing holds it up.
    static ServiceThread& without_mpi();

    bool calls_mpi() const { return calls_mpi_; }

    void add(Customer& customer);
    /// Afterwards no visit is under way and none follows.
    void remove(Customer& customer);
    /// Come in `ns` nanoseconds, or earlier if that was agreed. Not from visit().
    void call(Customer& customer, std::int64_t ns);
    /// By threads that wait or poll, at any time: visits the customers that are due where there is
    /// no thread to do that. Local, does not block. `now` is now_ns().
    void serve(std::int64_t now) {
        if (now >= due_ns_.load(std::memory_order_relaxed)) {
            serve_due();
        }
    }
    /// No customer is visited any more, also of those on the list: MPI is about to end.
    void retire();

  private:
    ServiceThread(const char* name, bool calls_mpi) : name_(name), calls_mpi_(calls_mpi) {}

    struct Round {
        Customer* customer;
        std::int64_t due_ns;
    };

    bool may_start() const;
    void start();
    void serve_due();
    void run(const bool& stop);
    void stop(std::unique_lock<std::mutex> lock);
    std::int64_t visit_due();

    const char* const name_;  ///< of its thread
    const bool calls_mpi_;
    /// Where there is no thread, the next visit.
    std::atomic<std::int64_t> due_ns_{std::numeric_limits<std::int64_t>::max()};
    std::mutex mutex_;
    std::condition_variable called_;
    std::vector<Round> rounds_;
    std::thread thread_;
    std::shared_ptr<bool> stop_;  ///< of thread_
    bool known_to_mpi_ = false;   ///< retire() will be called
    bool retired_ = false;
};

}  // namespace fluvial::progress
