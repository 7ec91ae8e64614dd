// SPDX-License-Identifier: Apache-2.0
/// The exchange that Fluvial is held against: a ring of buffers in shared memory, without names,
/// shapes, several readers, policies, or a thought of processes that die.
#pragma once

#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>

#include "sides.hpp"

namespace bench {

/// A count that one side raises and the other waits for.
struct alignas(64) Count {
    std::atomic<std::uint32_t> value;
    std::atomic<std::uint32_t> sleepers;

    void raise() {
        value.fetch_add(1, std::memory_order_seq_cst);
        if (sleepers.load(std::memory_order_seq_cst) != 0) {
            ::syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
        }
    }
    /// Until it is past `seen`; polling, or asleep on a futex.
    void wait(std::uint32_t seen, bool sleeps) {
        while (value.load(std::memory_order_acquire) == seen) {
            if (!sleeps) {
                pause_core();
                continue;
            }
            sleepers.fetch_add(1, std::memory_order_seq_cst);
            if (value.load(std::memory_order_seq_cst) == seen) {
                ::syscall(SYS_futex, &value, FUTEX_WAIT, seen, nullptr, nullptr, 0);
            }
            sleepers.fetch_sub(1, std::memory_order_seq_cst);
        }
    }
};

class Bare {
  public:
    Bare(std::size_t step_bytes, int queue_steps, bool sleeps)
        : step_bytes_(step_bytes),
          steps_(static_cast<std::uint32_t>(queue_steps)),
          sleeps_(sleeps) {
        counts_ = shared<Counts>();
        ring_ = shared<std::byte>(step_bytes * steps_);
    }
    ~Bare() {
        ::munmap(counts_, sizeof(Counts));
        ::munmap(ring_, step_bytes_ * steps_);
    }
    Bare(const Bare&) = delete;
    Bare& operator=(const Bare&) = delete;

    void open_writer() {}
    void open_reader() {}
    void write(const double* values) {
        while (written_ - counts_->read.value.load(std::memory_order_acquire) >= steps_) {
            counts_->read.wait(written_ - steps_, sleeps_);
        }
        std::memcpy(ring_ + (written_ % steps_) * step_bytes_, values, step_bytes_);
        ++written_;
        counts_->written.raise();
    }
    const double* next() {
        if (read_ != 0) {
            counts_->read.raise();
        }
        counts_->written.wait(read_, sleeps_);
        return reinterpret_cast<const double*>(ring_ + (read_++ % steps_) * step_bytes_);
    }
    void close_writer() {}
    void close_reader() {}

  private:
    struct Counts {
        Count written;
        Count read;
    };
    std::size_t step_bytes_;
    std::uint32_t steps_;
    bool sleeps_;
    Counts* counts_;
    std::byte* ring_;
    std::uint32_t written_ = 0;
    std::uint32_t read_ = 0;
};

}  // namespace bench
