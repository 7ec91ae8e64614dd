// SPDX-License-Identifier: Apache-2.0
/// Monotonic time in nanoseconds, comparable between the processes of one host (CLOCK_MONOTONIC),
/// and deadlines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace fluvial {

inline std::int64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

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
