// SPDX-License-Identifier: Apache-2.0
/// Where ranks that share cores sleep until another rank has something for them: in shared memory,
/// by the kernel's futex. A ring may be missed, so no rank sleeps for long.
#pragma once

#include <atomic>
#include <cstdint>

#include "fluvial/host/host_memory.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::host {

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

/// The bells of the ranks of one host.
class Bells {
  public:
    /// No rank has a bell.
    Bells() = default;
    /// Collective over `host`, blocking.
    explicit Bells(const mpi::Comm& host);

    /// Null when there are none.
    Bell* of(int host_rank) const;
    /// Collective, blocking.
    void close() {
        any_ = false;
        memory_.close();
    }
    void abandon() noexcept { memory_.abandon(); }

  private:
    host::HostMemory memory_;
    bool any_ = false;
};

inline void ring(Bell* bell) {
    if (bell != nullptr) {
        bell->ring();
    }
}

}  // namespace fluvial::host
