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

/// While a handle is being opened no other thread has it.
struct NoOtherThreads {
    template <class Work>
    void outside(Work work) {
        work();
    }
};

/// Calls `attempt` under the control lock until it returns a value, each time `bell` rings; none at
/// the deadline. Meanwhile looks after dead and stalled participants ten times a second. What
/// `attempt` or a check_interrupt throws ends the wait; so does a thread that closes the handle of
/// `call` (HandleLock::Call), whose other threads go on while this one sleeps.
template <class Attempt, class Call>
auto await(const ControlBlock& control, host::Doorbell& bell, const Deadline& deadline,
           Attempt attempt, Call&& call) -> decltype(attempt()) {
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
        const bool first = looked_ns == 0;
        if (first) {
            looked_ns = now_ns();
        }
        call.outside([&] {
            if (!first) {
                check_interrupt();
            }
            bell.wait(ticket, std::min(deadline.left_ns(), look_ns), control.spin_ns());
        });
    }
}

}  // namespace fluvial::stage
