// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/back_off.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::progress {

namespace {

std::int64_t simulated_ns = 0;
int yields = 0;
int sleeps = 0;

constexpr Clock simulated{[] { return simulated_ns; },
                          [] {
                              ++yields;
                              simulated_ns += 1'000;
                          },
                          [](std::int64_t ns) {
                              ++sleeps;
                              simulated_ns += ns;
                          }};

struct Simulation {
    Simulation() {
        simulated_ns = 0;
        yields = 0;
        sleeps = 0;
        set_clock(simulated);
    }
    ~Simulation() { set_clock(host_clock); }
};

/// Ends at a time of the simulated clock.
class Until final : public Waiting {
  public:
    explicit Until(std::int64_t end_ns) : end_ns_(end_ns) {}
    Seen look() override { return now_ns() >= end_ns_ ? Seen::End : Seen::Nothing; }

  private:
    std::int64_t end_ns_;
};

}  // namespace

TEST_CASE(
    "a wait that sleeps by other means looks around ten times a second, however few its looks") {
    const Simulation simulation;
    BackOff back_off;
    int times = 0;
    for (int nap = 0; nap < 20; ++nap) {
        simulated_ns += 100'000'000;
        back_off.slept();
        times += back_off.time_to_look_around() ? 1 : 0;
    }
    CHECK(times >= 19);
}

TEST_CASE("a back-off spins, then yields, then sleeps, and begins anew when something was found") {
    const Simulation simulation;
    BackOff back_off;
    back_off.rest();
    CHECK(simulated_ns == 0);
    while (sleeps == 0) {
        back_off.rest();
    }
    CHECK(yields > 0);
    const int before = yields;
    back_off.rest();
    CHECK(sleeps == 2);
    CHECK(yields == before);
    back_off.found_something();
    back_off.rest();
    CHECK(sleeps == 2);
    CHECK(yields == before);
}

TEST_CASE("more ranks than cores sleep sooner, and longer") {
    const Simulation simulation;
    BackOff alone(1);
    while (sleeps == 0) {
        alone.rest();
    }
    const int alone_yields = yields;
    const std::int64_t alone_ns = (alone.rest(), simulated_ns);
    alone.rest();
    const std::int64_t alone_nap_ns = simulated_ns - alone_ns;
    yields = 0;
    sleeps = 0;
    BackOff oversubscribed(8);
    while (sleeps == 0) {
        oversubscribed.rest();
    }
    CHECK(yields < alone_yields / 100);
    const std::int64_t before = simulated_ns;
    oversubscribed.rest();
    CHECK(simulated_ns - before > alone_nap_ns);
}

TEST_CASE("the engine waits by the program's own clock") {
    const std::int64_t real_before = now_ns();
    {
        const Simulation simulation;
        constexpr std::int64_t minute_ns = 60'000'000'000;
        Until until(now_ns() + minute_ns);
        BackOff back_off;
        wait(until, back_off);
        CHECK(simulated_ns >= minute_ns);
        CHECK(sleeps > 0);
    }
    CHECK(now_ns() - real_before < 60'000'000'000);
}

}  // namespace fluvial::progress
