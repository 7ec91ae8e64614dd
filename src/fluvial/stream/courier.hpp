// SPDX-License-Identifier: Apache-2.0
/// The thread of a process that comes for what lies too long, when its producer does something
/// else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace fluvial::stream {

/// Asleep while nobody has called it. One for the process: of_process(). The thread lives as long
/// as anybody is on its list, and ends before MPI does.
class Courier {
  public:
    class Customer {
      public:
        virtual ~Customer() = default;
        /// In the courier's thread. Does not block (a lock that is held: next time). Returns after
        /// how many nanoseconds to come again; nothing: when called.
        virtual std::optional<std::int64_t> visit() = 0;
    };

    static Courier& of_process();

    void add(Customer& customer);
    /// Afterwards no visit is under way and none follows.
    void remove(Customer& customer);
    /// Come in `ns` nanoseconds, or earlier if that was agreed. Not from visit().
    void call(Customer& customer, std::int64_t ns);
    /// Nobody is visited any more, whoever is on the list: MPI is about to end.
    void retire();

  private:
    struct Round {
        Customer* customer;
        std::int64_t due_ns;
    };

    void run(const bool& stop);
    void stop(std::unique_lock<std::mutex> lock);
    std::int64_t visit_due();

    std::mutex mutex_;
    std::condition_variable called_;
    std::vector<Round> rounds_;
    std::thread thread_;
    std::shared_ptr<bool> stop_;  ///< of thread_
    bool known_to_mpi_ = false;   ///< retire() will be called
    bool retired_ = false;
};

}  // namespace fluvial::stream
