// SPDX-License-Identifier: Apache-2.0
/// Mutual exclusion and waiting between processes that share memory; both survive the death of any
/// participant.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>

namespace fluvial::host {

/// A mutex in shared memory. When its owner is killed, the next to lock it goes on; the state that
/// it guards must be such that every store of a critical section leaves it consistent.
class SharedMutex {
  public:
    /// Once, by the process that creates the memory.
    void initialise();
    /// Throws PeerStalled after `timeout_s`: its owner was stopped (SIGSTOP) inside a critical
    /// section, which lasts microseconds otherwise. The mutex is then as before, and may be tried
    /// again once that process runs.
    void lock(double timeout_s = 10);
    void unlock();

  private:
    pthread_mutex_t mutex_;
};

/// Wakes processes that wait for a condition on shared memory (a futex). Usage on the waiting side:
///     const auto ticket = bell.ticket();  if (condition) …;  bell.wait(ticket, timeout_ns);
class Doorbell {
  public:
    std::uint32_t ticket() const { return rings_.load(std::memory_order_acquire); }
    /// Wakes all that wait. Costs a system call only when a process sleeps.
    void ring();
    /// Returns when the bell has rung since `ticket` or the time is up; first spins `spin_ns`,
    /// yielding the core, then sleeps. May return early.
    void wait(std::uint32_t ticket, std::int64_t timeout_ns, std::int64_t spin_ns);

  private:
    std::atomic<std::uint32_t> rings_;
    std::atomic<std::uint32_t> sleepers_;
};

}  // namespace fluvial::host
