// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/trace.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"

using namespace fluvial;

namespace {

bool follow_or_nest(const TraceEvent& a, const TraceEvent& b) {
    const bool apart = a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns;
    const bool a_in_b = a.begin_ns >= b.begin_ns && a.end_ns <= b.end_ns;
    const bool b_in_a = b.begin_ns >= a.begin_ns && b.end_ns <= a.end_ns;
    return apart || a_in_b || b_in_a;
}

int badly_nested(std::span<const TraceEvent> events) {
    int bad = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            bad += !follow_or_nest(events[i], events[j]);
        }
    }
    return bad;
}

std::map<Activity, std::int64_t> time_of(std::span<const TraceEvent> events) {
    std::map<Activity, std::int64_t> sums;
    for (const TraceEvent& event : events) {
        sums[event.activity] += event.end_ns - event.begin_ns;
    }
    return sums;
}

}  // namespace

TEST_CASE("spans are nested and remember what they lie in") {
    Trace trace;
    {
        const Trace::Span outer(&trace, Activity::Stalled, 1);
        CHECK(trace.in_span());
        const Trace::Span inner(&trace, Activity::Processing, 2);
    }
    CHECK(!trace.in_span());
    trace.add(Activity::Idle, 2, now_ns(), now_ns());
    {
        const Trace::Span nothing(nullptr, Activity::Idle, 0);
    }
    const auto events = trace.events();
    REQUIRE(events.size() == 3);
    CHECK(events[0].activity == Activity::Processing);
    CHECK(events[1].activity == Activity::Stalled);
    CHECK(events[0].parent != 0);
    CHECK(events[1].parent == 0);
    CHECK(events[2].parent == 0);
    CHECK(events[1].begin_ns <= events[0].begin_ns);
    CHECK(events[0].end_ns <= events[1].end_ns);
    CHECK(badly_nested(events) == 0);
}

TEST_CASE("a full trace becomes coarser, keeps its times, and stays nested") {
    Trace trace(400);
    std::mt19937_64 random(5);
    std::int64_t now = 1000;
    std::map<Activity, std::int64_t> expected;
    for (int i = 0; i < 20'000; ++i) {
        const Activity activity = i % 2 == 0 ? Activity::Processing : Activity::Idle;
        const auto length =
            static_cast<std::int64_t>(1 + random() % (i % 1000 == 0 ? 1'000'000 : 900));
        trace.add(activity, 0, now, now + length);
        expected[activity] += length;
        now += length + static_cast<std::int64_t>(random() % 50);
    }
    CHECK(trace.events().size() <= 400);
    CHECK(trace.resolution_ns() > 0);
    CHECK(time_of(trace.events()) == expected);
    CHECK(badly_nested(trace.events()) == 0);
    std::uint64_t parts = 0;
    for (const TraceEvent& event : trace.events()) {
        parts += event.parts;
    }
    CHECK(parts == 20'000);
}

TEST_CASE("a full trace of nested spans stays bounded and nested") {
    Trace trace(300);
    std::mt19937 random(6);
    for (int i = 0; i < 5000; ++i) {
        const Trace::Span outer(&trace, Activity::Stalled, 0);
        for (unsigned n = random() % 3; n > 0; --n) {
            const Trace::Span inner(&trace, Activity::Processing, 1);
            if (random() % 4 == 0) {
                const Trace::Span innermost(&trace, Activity::Stalled, 2);
            }
        }
    }
    CHECK(trace.events().size() <= 300);
    CHECK(badly_nested(trace.events()) == 0);
}
