// SPDX-License-Identifier: Apache-2.0
/// Lets an embedding language break off a blocking wait (Ctrl-C in Python).
#pragma once

#include <cstdint>
#include <functional>

#include "fluvial/base/clock.hpp"

namespace fluvial {

/// `check` is called about ten times a second by every call that blocks; what it throws ends the
/// wait. Set once, at load time, before any thread waits.
void set_interrupt_check(std::function<void()> check);
void check_interrupt();

/// Base of what a function of the user's throws that is to end the program, as Ctrl-C in the middle
/// of it does: where a wait serves the function's verb, it ends the wait, too.
class Interruption {};

/// In a long computation: asks about ten times a second. What a pass costs is next to nothing.
class InterruptPoints {
  public:
    /// Throws what check_interrupt() does.
    void pass() {
        if (++passes_ % passes_a_look == 0) {
            look();
        }
    }

  private:
    static constexpr unsigned passes_a_look = 16;

    void look();

    unsigned passes_ = 0;
    std::int64_t next_ns_ = now_ns();
};

/// For as long as it exists, check_interrupt() in this thread calls `check` as well, and no other
/// one of this kind.
class ThreadInterruptCheck {
  public:
    explicit ThreadInterruptCheck(std::function<void()> check);
    ~ThreadInterruptCheck();
    ThreadInterruptCheck(const ThreadInterruptCheck&) = delete;
    ThreadInterruptCheck& operator=(const ThreadInterruptCheck&) = delete;

  private:
    std::function<void()> check_;
    const std::function<void()>* before_;
};

/// While one exists, check_interrupt() does nothing in this thread: one of the library's own, which
/// the thread that it would have to ask may be waiting for.
class WithoutInterrupts {
  public:
    WithoutInterrupts();
    ~WithoutInterrupts();
    WithoutInterrupts(const WithoutInterrupts&) = delete;
    WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

  private:
    bool before_;
};

}  // namespace fluvial
