// SPDX-License-Identifier: Apache-2.0
/// The one loop in which a process waits for the state of a stream to change.
#pragma once

#include <algorithm>
#include <optional>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/membership.hpp"

namespace fluvial::stage {

/// Calls `attempt` under the control lock until it returns a value, each time `bell` rings; none at
/// the deadline. Meanwhile looks after dead and stalled participants ten times a second. What
/// `attempt` or a check_interrupt throws ends the wait.
template <class Attempt>
auto await(const ControlBlock& control, move::Doorbell& bell, const Deadline& deadline,
           Attempt attempt) -> decltype(attempt()) {
    constexpr std::int64_t look_ns = 100'000'000;
    std::int64_t looked_ns = 0;
    while (true) {
        const auto ticket = bell.ticket();
        {
            const ControlLock lock(control);
            if (auto result = attempt()) {
                return result;
            }
            if (looked_ns != 0 && now_ns() - looked_ns >= look_ns) {
                reap(control);
                looked_ns = now_ns();
                if (auto result = attempt()) {
                    return result;
                }
            }
        }
        if (deadline.passed()) {
            return std::nullopt;
        }
        if (looked_ns == 0) {
            looked_ns = now_ns();
        } else {
            check_interrupt();
        }
        bell.wait(ticket, std::min(deadline.left_ns(), look_ns), control.spin_ns());
    }
}

}  // namespace fluvial::stage
