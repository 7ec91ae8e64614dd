// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/spin_first.hpp"

#include <doctest/doctest.h>

namespace fluvial::progress {
namespace {

std::int64_t simulated_ns = 0;
constexpr std::int64_t look_ns = 1'000;

/// Time that only looks let pass.
struct Simulation {
    Simulation() {
        set_clock(
            {[] { return simulated_ns; }, [] {}, [](std::int64_t ns) { simulated_ns += ns; }});
    }
    ~Simulation() { set_clock(host_clock); }
};

/// A wait for what comes after some time; how long it spun.
struct Wait {
    bool in_time;
    std::int64_t spun_ns;
};

Wait wait(SpinFirst& spin_first, std::int64_t comes_after_ns) {
    const std::int64_t begin_ns = simulated_ns;
    const bool in_time = spin_first([&] {
        simulated_ns += look_ns;
        return simulated_ns - begin_ns >= comes_after_ns;
    });
    return {in_time, simulated_ns - begin_ns};
}

}  // namespace

TEST_CASE("what comes soon is seen as it comes, and spinning goes on") {
    const Simulation simulation;
    SpinFirst spin_first;
    for (int n = 0; n < 1000; ++n) {
        const Wait one = wait(spin_first, 30'000);
        CHECK(one.in_time);
        CHECK(one.spun_ns == 30'000);
    }
}

TEST_CASE("where nothing comes soon, hardly anything is spent on looking") {
    const Simulation simulation;
    SpinFirst spin_first;
    for (int n = 0; n < 20; ++n) {
        const Wait one = wait(spin_first, 10 * SpinFirst::limit_ns);
        CHECK(!one.in_time);
        CHECK(one.spun_ns <= SpinFirst::limit_ns + look_ns);
    }
    std::int64_t spun_ns = 0;
    constexpr int waits = 3200;
    for (int n = 0; n < waits; ++n) {
        spun_ns += wait(spin_first, 10 * SpinFirst::limit_ns).spun_ns;
    }
    CHECK(spun_ns > 0);  // it is tried again
    CHECK(spun_ns <= waits / SpinFirst::waits_a_trial * (SpinFirst::limit_ns + look_ns));
}

TEST_CASE("once messages come soon again, they are waited for again") {
    const Simulation simulation;
    SpinFirst spin_first;
    for (int n = 0; n < 100; ++n) {
        wait(spin_first, 10 * SpinFirst::limit_ns);
    }
    int vain = 0;
    for (int n = 0; n < 1000; ++n) {
        vain += wait(spin_first, 10'000).in_time ? 0 : 1;
    }
    CHECK(vain < static_cast<int>(SpinFirst::waits_a_trial));
}

TEST_CASE("one message in two that comes soon is enough") {
    const Simulation simulation;
    SpinFirst spin_first;
    int in_time = 0;
    for (int n = 0; n < 1000; ++n) {
        in_time += wait(spin_first, n % 2 == 0 ? 10'000 : 10 * SpinFirst::limit_ns).in_time ? 1 : 0;
    }
    CHECK(in_time == 500);
}

}  // namespace fluvial::progress
