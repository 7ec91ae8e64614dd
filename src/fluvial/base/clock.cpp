// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/clock.hpp"

#include <ctime>

#include <sched.h>

namespace fluvial {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

std::int64_t monotonic_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * second_ns + t.tv_nsec;
}

void yield_core() {
    sched_yield();
}

void nap(std::int64_t ns) {
    const timespec t{static_cast<std::time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
    nanosleep(&t, nullptr);
}

}  // namespace

constinit const Clock host_clock{monotonic_ns, yield_core, nap};

namespace {

constinit Clock current{monotonic_ns, yield_core, nap};

}  // namespace

void set_clock(const Clock& clock) {
    current = clock;
}

std::int64_t now_ns() {
    return current.now_ns();
}

void yield() {
    current.yield();
}

void sleep_ns(std::int64_t ns) {
    current.sleep_ns(ns);
}

}  // namespace fluvial
