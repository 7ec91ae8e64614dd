// SPDX-License-Identifier: Apache-2.0
/// Where threads sleep until another process has something for them: in shared memory, by the
/// kernel's futex. ARCHITECTURE.md says why there are two kinds.
///
/// |                      | Doorbell                          | Bell                             |
/// |----------------------|-----------------------------------|----------------------------------|
/// | those that wait      | any number; they spin, then sleep | its owner alone; it arms, looks  |
/// |                      |                                   | once more, sleeps                |
/// | a ring writes        | a count, each time                | nothing, unless the bell is      |
/// |                      |                                   | armed                            |
/// | a ring may be missed | no                                | yes: nobody sleeps for long      |
#pragma once

#include <atomic>
#include <cstdint>

namespace fluvial::host {

/// Wakes processes that wait for a condition on shared memory. Usage on the waiting side:
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

/// The bell of one rank, two cache lines away from those of other ranks.
class alignas(128) Bell {
  public:
    /// A thread that looks around after this is woken by what comes after that look.
    void arm() {
        asleep_.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);  // before that look, as in ring()
    }
    void disarm() { asleep_.store(0, std::memory_order_relaxed); }
    /// Blocking until rung since arm(), `ns` at most.
    void sleep(std::int64_t ns);
    /// Wakes the owner when it sleeps.
    void ring() {
        std::atomic_thread_fence(std::memory_order_seq_cst);  // after what it is rung for
        if (asleep_.load(std::memory_order_relaxed) != 0) {
            wake();
        }
    }

  private:
    void wake();

    std::atomic<std::uint32_t> asleep_{0};
};

inline void ring(Bell* bell) {
    if (bell != nullptr) {
        bell->ring();
    }
}

}  // namespace fluvial::host
