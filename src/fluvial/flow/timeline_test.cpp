// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/timeline.hpp"

#include <doctest/doctest.h>

using namespace fluvial::flow;

namespace {

constexpr std::int64_t ms = 1'000'000;

}  // namespace

TEST_CASE("a task is on all ranks of its team, by the clock of rank 0") {
    Timeline timeline({0, 50 * ms, -50 * ms});
    timeline.add("mesh", 2, {1, 2}, 70 * ms, 0.003);
    timeline.add("draw", 1, {1}, 0, 0.001);
    CHECK(timeline.kinds() == std::vector<std::string>{"mesh", "draw"});
    CHECK(timeline.tasks() == 2);
    CHECK(timeline.busy_s() == doctest::Approx(0.007));
    CHECK(timeline.of(0).empty());
    REQUIRE(timeline.of(1).size() == 2);
    CHECK(timeline.of(1)[0].begin_ns == 20 * ms);
    CHECK(timeline.of(1)[0].end_ns == 23 * ms);
    CHECK(timeline.of(1)[0].stream == 0);
    CHECK(timeline.of(1)[1].begin_ns == 50 * ms);
    CHECK(timeline.of(1)[1].stream == 1);
    CHECK(timeline.of(2).size() == 1);
}

TEST_CASE("many brief tasks take little memory, and none is forgotten") {
    constexpr int count = 300'000;
    Timeline timeline({0, 0});
    for (std::int64_t task = 0; task < count; ++task) {
        timeline.add(task % 2 == 0 ? "even" : "odd", 1, {1}, task * 10'000, 5e-6);
    }
    CHECK(timeline.tasks() == count);
    CHECK(timeline.of(1).size() <= 20'000);
    std::int64_t parts = 0;
    std::int64_t busy_ns = 0;
    for (const fluvial::TraceEvent& event : timeline.of(1)) {
        parts += event.parts;
        busy_ns += event.end_ns - event.begin_ns;
    }
    CHECK(parts == count);
    CHECK(busy_ns == count * std::int64_t{5'000});
}
