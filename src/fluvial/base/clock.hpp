// SPDX-License-Identifier: Apache-2.0
/// Monotonic time in nanoseconds, comparable between the processes of one host (CLOCK_MONOTONIC),
/// deadlines, and how a thread lets time pass. On a simulated machine, whose time goes on only when
/// its ranks wait, a program sets a clock of its own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fluvial {

struct Clock {
    std::int64_t (*now_ns)();
    /// Gives the core to others that could run, for as long as they take.
    void (*yield)();
    /// Returns when at least so much time has passed, or a signal came.
    void (*sleep_ns)(std::int64_t ns);
};

/// The host's: CLOCK_MONOTONIC, sched_yield, nanosleep.
extern const Clock host_clock;

/// From now on the functions below, and with them all deadlines and waits of this process, are
/// those of `clock`. To be called before anything is waited for; not thread-safe.
void set_clock(const Clock& clock);

std::int64_t now_ns();
void yield();
void sleep_ns(std::int64_t ns);

/// A point in time after which a blocking call gives up.
class Deadline {
  public:
    explicit Deadline(double timeout_s)
        : end_ns_(now_ns() + static_cast<std::int64_t>(std::min(timeout_s, 1e9) * 1e9)) {}
    std::int64_t left_ns() const { return std::max<std::int64_t>(0, end_ns_ - now_ns()); }
    bool passed() const { return left_ns() == 0; }

  private:
    std::int64_t end_ns_;
};

}  // namespace fluvial
