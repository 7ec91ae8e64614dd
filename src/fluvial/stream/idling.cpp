// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/idling.hpp"

#include <ctime>

#include <sched.h>

#include "fluvial/base/clock.hpp"

namespace fluvial::stream {

namespace {

// A look takes about 0.2 us: spinning lasts some 20 us, yielding some milliseconds.
constexpr int spins = 100;
constexpr int yields = 10'000;
constexpr long nap_ns = 50'000;
constexpr unsigned rounds_between_clocks = 16;
constexpr std::int64_t look_around_ns = 100'000'000;

}  // namespace

void Idling::rest() {
    ++looks_;
    if (looks_ < spins) {
        __builtin_ia32_pause();
    } else if (looks_ < yields) {
        sched_yield();
    } else {
        const timespec nap{0, nap_ns};
        nanosleep(&nap, nullptr);
    }
}

bool Idling::time_to_look_around() {
    if (++rounds_ % rounds_between_clocks != 0) return false;
    const std::int64_t now = now_ns();
    if (looked_ns_ == 0) looked_ns_ = now;
    if (now - looked_ns_ < look_around_ns) return false;
    looked_ns_ = now;
    return true;
}

}  // namespace fluvial::stream
