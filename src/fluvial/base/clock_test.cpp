// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/clock.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"

namespace fluvial {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// The clock stands still until a thread waits.
std::int64_t simulated_ns = 5 * second_ns;

constexpr Clock simulated{[] { return simulated_ns; }, [] { simulated_ns += 1'000; },
                          [](std::int64_t ns) { simulated_ns += ns; }};

struct Simulation {
    Simulation() { set_clock(simulated); }
    ~Simulation() { set_clock(host_clock); }
};

}  // namespace

TEST_CASE("the host's clock goes on, and sleeps at least as long as it is told") {
    const std::int64_t before = now_ns();
    sleep_ns(2'000'000);
    CHECK(now_ns() - before >= 2'000'000);
    const Deadline passed(0);
    CHECK(passed.passed());
    const Deadline far(1e300);
    CHECK(far.left_ns() > 1'000'000 * second_ns);
}

TEST_CASE("a clock of the program's own is that of deadlines") {
    const Simulation simulation;
    const Deadline deadline(3600);
    CHECK(deadline.left_ns() == 3600 * second_ns);
    sleep_ns(3599 * second_ns);
    CHECK_FALSE(deadline.passed());
    yield();
    CHECK(deadline.left_ns() == second_ns - 1'000);
    sleep_ns(second_ns);
    CHECK(deadline.passed());
}

TEST_CASE("what waits passes the time of the program's own clock, and no other") {
    const std::int64_t real_before = now_ns();
    {
        const Simulation simulation;
        const std::int64_t before = now_ns();
        CHECK_THROWS_AS(
            wait_until([] { return false; }, Deadline(60), "the simulated rank did not answer"),
            TimedOut);
        CHECK(now_ns() - before >= 60 * second_ns);
    }
    CHECK(now_ns() - real_before < 60 * second_ns);
}

}  // namespace fluvial
