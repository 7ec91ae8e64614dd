// SPDX-License-Identifier: Apache-2.0
/// Looking again and again before going to sleep, where that pays.
#pragma once

#include <atomic>
#include <cstdint>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/spin.hpp"

namespace fluvial::progress {

/// A thread that sleeps is woken 10 to 30 us after its message has come, and to wake it takes time
/// of the core that sent it. Whether messages come soon enough is found by trial: after some vain
/// ones only few waits spin first, until one is not in vain. Any thread may call it.
///
/// That is no Trial (base/trial.hpp), which compares the times of two ways: what it costs to sleep
/// is spent by the core that sends, and this thread cannot see it. A score of the last waits says
/// instead how many of them spinning has ended.
class SpinFirst {
  public:
    /// True once `ready()` is, false when the caller had better sleep.
    template <class Ready>
    bool operator()(Ready ready) {
        if (worth_.load(std::memory_order_relaxed) == 0 &&
            waits_.fetch_add(1, std::memory_order_relaxed) % waits_a_trial != 0) {
            return false;
        }
        const std::int64_t end_ns = now_ns() + limit_ns;
        do {
            if (ready()) {
                note(gained_in_time);
                return true;
            }
            spin();
        } while (now_ns() < end_ns);
        note(lost_in_vain);
        return false;
    }

    static constexpr std::int64_t limit_ns = 200'000;
    static constexpr std::uint32_t waits_a_trial = 32;

  private:
    /// One wait in five that is not in vain pays.
    static constexpr int gained_in_time = 4, lost_in_vain = -1;
    /// So many vain waits in a row are enough, however many were not in vain before.
    static constexpr int worth_max = 16;

    void note(int gained) {
        const int worth = worth_.load(std::memory_order_relaxed) + gained;
        worth_.store(worth < 0           ? 0
                     : worth > worth_max ? worth_max
                                         : worth,
                     std::memory_order_relaxed);
    }

    std::atomic<int> worth_ = worth_max;
    std::atomic<std::uint32_t> waits_ = 0;
};

}  // namespace fluvial::progress
