// SPDX-License-Identifier: Apache-2.0
/// How a process waits for the state of a stream to change.
#pragma once

#include <algorithm>
#include <optional>

#include "fluvial/base/clock.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/membership.hpp"

namespace fluvial::stage {

/// While a handle is being opened no other thread has it.
struct NoOtherThreads {
    static constexpr bool inside() { return true; }
    static void enter() {}
    static void leave() {}
    static void regain() {}
};

/// Looks with the turn of the handle and under the control lock, sleeps without either.
template <class Attempt, class Call>
class StateWait final : public progress::Waiting {
  public:
    using Result = decltype(std::declval<Attempt&>()());

    StateWait(const ControlBlock& control, host::Doorbell& bell, const Deadline& deadline,
              Attempt& attempt, Call& call)
        : control_(control), bell_(bell), deadline_(deadline), attempt_(attempt), call_(call) {}
    /// The turn is the call's again, however the wait ended.
    ~StateWait() override { call_.regain(); }
    StateWait(const StateWait&) = delete;
    StateWait& operator=(const StateWait&) = delete;

    Seen look() override {
        ticket_ = bell_.ticket();
        if (!call_.inside()) {
            call_.enter();
        }
        if (attempt() || deadline_.passed()) {
            return Seen::End;
        }
        call_.leave();
        return Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        reaps_ = true;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr std::int64_t look_ns = 100'000'000;
        constexpr std::int64_t brief_ns = 100'000;
        bell_.wait(ticket_, std::min(deadline_.left_ns(), serving ? brief_ns : look_ns),
                   serving ? 0 : control_.spin_ns());
        back_off.slept();
    }

    Result result = {};

  private:
    bool attempt() {
        const ControlLock lock(control_);
        result = attempt_();
        if (!result && std::exchange(reaps_, false)) {
            reap(control_);
            result = attempt_();
        }
        return result.has_value();
    }

    const ControlBlock& control_;
    host::Doorbell& bell_;
    const Deadline& deadline_;
    Attempt& attempt_;
    Call& call_;
    std::uint32_t ticket_ = 0;
    bool reaps_ = false;  ///< looks after dead and stalled participants
};

/// Calls `attempt` under the control lock until it returns a value, each time `bell` rings; none at
/// the deadline. Meanwhile looks after dead and stalled participants ten times a second. What
/// `attempt` or a check_interrupt throws ends the wait; so does a thread that closes the handle of
/// `call` (HandleLock::Call), whose other threads go on while this one sleeps.
template <class Attempt, class Call>
auto await(const ControlBlock& control, host::Doorbell& bell, const Deadline& deadline,
           Attempt attempt, Call&& call) -> decltype(attempt()) {
    StateWait waiting(control, bell, deadline, attempt, call);
    progress::BackOff back_off;
    progress::wait(waiting, back_off);
    return std::move(waiting.result);
}

/// The same with `timeout_s` from now, and the seconds that it took added to `waited_s`; without a
/// look at the clock where `attempt` succeeds at once, as most do.
template <class Attempt, class Call>
auto await(const ControlBlock& control, host::Doorbell& bell, double timeout_s, double& waited_s,
           Attempt attempt, Call&& call) -> decltype(attempt()) {
    {
        const ControlLock lock(control);
        if (auto result = attempt()) {
            return result;
        }
    }
    const std::int64_t begin_ns = now_ns();
    auto result = await(control, bell, Deadline(timeout_s), std::move(attempt), call);
    waited_s += static_cast<double>(now_ns() - begin_ns) * 1e-9;
    return result;
}

}  // namespace fluvial::stage
