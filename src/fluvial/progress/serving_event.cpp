// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/serving_event.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::progress {

class ServingEvent::Waits final : public Waiting {
  public:
    Waits(ServingEvent& event, double timeout_s) : event_(event), end_(timeout_s) {}
    Seen look() override {
        const bool over = std::exchange(served_, true) && end_.passed();
        return event_.set_ || over ? Seen::End : Seen::Nothing;
    }
    /// What is told ends it at once, what is to be served does not: that is looked for.
    void rest(BackOff& back_off, bool serving) override {
        constexpr std::int64_t nap_ns = 50'000;
        constexpr std::int64_t sleep_max_ns = 50'000'000;  // between looks for Ctrl-C
        const std::int64_t ns = std::min(serving ? nap_ns : sleep_max_ns, end_.left_ns());
        if (ns > 0) {
            std::unique_lock lock(event_.mutex_);
            event_.told_.wait_for(lock, std::chrono::nanoseconds(ns),
                                  [this] { return event_.set_.load(); });
        }
        if (!serving) {
            back_off.slept();
        }
    }

  private:
    ServingEvent& event_;
    Deadline end_;
    bool served_ = false;
};

void ServingEvent::set() {
    {
        const std::lock_guard lock(mutex_);
        set_ = true;
    }
    told_.notify_all();
}

bool ServingEvent::wait(double timeout_s) {
    Waits waiting(*this, timeout_s);
    BackOff back_off;
    progress::wait(waiting, back_off);
    return set_;
}

}  // namespace fluvial::progress
