// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/back_off.hpp"

#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/spin.hpp"

namespace fluvial::progress {

namespace {

// A look takes about 0.2 us: spinning lasts some 20 us, yielding some milliseconds.
constexpr int spins = 100;
constexpr int yields = 10'000;
constexpr long nap_ns = 50'000;
// With more ranks than cores: the more, the sooner to bed.
constexpr int oversubscribed_spins = 2;
constexpr double oversubscribed_yields = 1200;  ///< divided by the square of the ranks a core
constexpr double ranks_per_core_max = 20;
constexpr long rung_nap_ns = 5'000'000;
constexpr unsigned rounds_between_clocks = 16;
constexpr std::int64_t look_around_ns = 100'000'000;

}  // namespace

BackOff::BackOff(double ranks_per_core, host::Bell* bell, bool rung)
    : bell_(bell), spins_(spins), yields_(yields), nap_ns_(nap_ns) {
    if (ranks_per_core <= 1) {
        return;
    }
    spins_ = oversubscribed_spins;
    yields_ =
        bell_ != nullptr
            ? spins_
            : spins_ + static_cast<int>(oversubscribed_yields / (ranks_per_core * ranks_per_core));
    nap_ns_ = bell_ != nullptr && rung
                  ? rung_nap_ns
                  : static_cast<long>(nap_ns * std::min(ranks_per_core, ranks_per_core_max));
}

void BackOff::rest(bool briefly) {
    ++looks_;
    if (looks_ < spins_) {
        spin();
    } else if (looks_ < yields_) {
        yield();
    } else {
        nap(briefly);
    }
}

/// With a bell there is one more look between arming it and the nap, or what came just before would
/// be slept over.
void BackOff::nap(bool briefly) {
    if (bell_ == nullptr || briefly) {
        sleep_ns(bell_ == nullptr ? nap_ns_ : nap_ns);
    } else if (!armed_) {
        bell_->arm();
        armed_ = true;
    } else {
        bell_->sleep(nap_ns_);
        armed_ = false;
        slept();
    }
}

bool BackOff::time_to_look_around() {
    if (rounds_++ % rounds_between_clocks != 0) {
        return false;
    }
    const std::int64_t now = now_ns();
    if (looked_ns_ == 0) {
        looked_ns_ = now;
    }
    if (now - looked_ns_ < look_around_ns) {
        return false;
    }
    looked_ns_ = now;
    return true;
}

}  // namespace fluvial::progress
