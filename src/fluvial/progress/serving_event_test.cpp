// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/serving_event.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/progress/engine.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

constexpr double forever_s = std::numeric_limits<double>::infinity();

void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

TEST_CASE("a thread that waits for an event serves until it is set") {
    ServingEvent event;
    std::atomic<int> turns = 0;
    const Served served([&] { return ++turns, false; }, false);
    std::thread setter([&] {
        while (turns < 100) {
            sleep_ms(1);
        }
        event.set();
    });
    CHECK(event.wait(forever_s));
    CHECK(turns >= 100);
    setter.join();
}

TEST_CASE("an event that is set already is not waited for, and nothing is served") {
    ServingEvent event;
    int turns = 0;
    const Served served([&] { return ++turns, true; }, false);
    event.set();
    CHECK(event.is_set());
    CHECK(event.wait(0));
    CHECK(event.wait(forever_s));
    CHECK(turns == 0);
    event.clear();
    CHECK_FALSE(event.is_set());
}

TEST_CASE("a wait for an event ends in time, and serves once where it has none") {
    ServingEvent event;
    int turns = 0;
    const Served served([&] { return ++turns, false; }, false);
    CHECK_FALSE(event.wait(0));
    CHECK(turns == 1);
    CHECK_FALSE(event.wait(-1));
    const std::int64_t begin_ns = now_ns();
    CHECK_FALSE(event.wait(0.05));
    CHECK(now_ns() - begin_ns >= 50'000'000);
}

TEST_CASE("a wait that serves nothing is ended by the event at once") {
    ServingEvent event;
    std::atomic<std::int64_t> set_ns = 0;
    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (int time = 0; time < 5; ++time) {
        event.clear();
        std::thread setter([&] {
            sleep_ms(5);
            set_ns = now_ns();
            event.set();
        });
        CHECK(event.wait(forever_s));
        shortest_ns = std::min(shortest_ns, now_ns() - set_ns);
        setter.join();
    }
    CHECK(shortest_ns < 25'000'000);  // it looks for Ctrl-C every 50 ms
}

TEST_CASE("an event that what is served sets ends the wait") {
    ServingEvent event;
    const Served served([&] { return event.set(), false; }, false);
    CHECK(event.wait(forever_s));
}

TEST_CASE("Ctrl-C ends a wait for an event, served or not") {
    set_interrupt_check([] { throw InvalidArgument("Ctrl-C"); });
    ServingEvent event;
    CHECK_THROWS_WITH_AS(event.wait(forever_s), "Ctrl-C", InvalidArgument);
    {
        const Served served([] { return false; }, false);
        CHECK_THROWS_WITH_AS(event.wait(forever_s), "Ctrl-C", InvalidArgument);
    }
    set_interrupt_check({});
    CHECK_FALSE(event.wait(0.01));  // and can be waited for again
}
