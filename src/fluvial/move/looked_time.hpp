// SPDX-License-Identifier: Apache-2.0
/// Time that passes while a rank looks for what has come.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fluvial/base/clock.hpp"

namespace fluvial::move {

/// Counts the time between two looks, but no more than a tenth of a second of it: a rank that was
/// stopped itself, or did something else for long, does not take others for lost before it has
/// looked again.
class LookedTime {
  public:
    void look() {
        const std::int64_t now = now_ns();
        constexpr std::int64_t most_ns = 100'000'000;
        seconds_ += static_cast<double>(std::min(now - last_ns_, most_ns)) * 1e-9;
        last_ns_ = now;
    }
    double seconds() const { return seconds_; }

  private:
    std::int64_t last_ns_ = now_ns();
    double seconds_ = 0;
};

}  // namespace fluvial::move
