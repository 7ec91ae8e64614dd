// SPDX-License-Identifier: Apache-2.0
/// Steps that several reading jobs share, instead of getting each of them.
#include <algorithm>
#include <vector>

#include "fluvial/stage/stream_end.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial::stage;

namespace {

WriterOptions shared(StepsTo to, int queue_steps = 8) {
    WriterOptions options;
    options.steps_to = to;
    options.queue_steps = queue_steps;
    return options;
}

std::vector<std::uint64_t> read_all(Stream& s, int cell) {
    std::vector<std::uint64_t> steps;
    while (const auto step = s.read(cell)) {
        steps.push_back(*step);
    }
    return steps;
}

using Steps = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("in turn, each job gets its part, at its own pace") {
    Stream s(shared(StepsTo::RoundRobin));
    const int a = s.join()[0];
    const int b = s.join()[0];
    for (std::uint64_t step = 0; step < 5; ++step) {
        REQUIRE(s.write(step));
    }
    const Steps of_b = read_all(s, b);
    const Steps of_a = read_all(s, a);
    CHECK(((of_a == Steps{0, 2, 4} && of_b == Steps{1, 3}) ||
           (of_b == Steps{0, 2, 4} && of_a == Steps{1, 3})));
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE("on demand, the job that asks gets the next step, and all its ranks the same") {
    Stream s(shared(StepsTo::OnDemand));
    const auto a = s.join(2);
    const int b = s.join()[0];
    for (std::uint64_t step = 0; step < 4; ++step) {
        REQUIRE(s.write(step));
    }
    CHECK(s.read(a[0]) == 0);
    CHECK(s.read(b) == 1);
    CHECK(s.read(b) == 2);
    CHECK(s.read(a[1]) == 0);
    CHECK(s.read(a[1]) == 3);
    CHECK_FALSE(s.read(b).has_value());
    CHECK(s.read(a[0]) == 3);
    CHECK(queue_depth(s.control) == 0);
    CHECK(s.counters().steps_unread == 0);
}

TEST_CASE("what a job that dies had got goes to the others, even what it had begun") {
    for (const StepsTo to : {StepsTo::RoundRobin, StepsTo::OnDemand}) {
        Stream s(shared(to));
        const int doomed = s.join()[0];
        const int other = s.join()[0];
        for (std::uint64_t step = 0; step < 6; ++step) {
            REQUIRE(s.write(step));
        }
        const int begun = take(s.control, doomed);
        REQUIRE(begun >= 0);
        const std::uint64_t lost = s.step_in(begun);
        Steps got;
        got.push_back(*s.read(other));
        reap(s.control);  // no process holds the alive lock of either
        // Both are gone now: what they left waits for the next job that comes.
        const int late = s.join()[0];
        for (const std::uint64_t step : read_all(s, late)) {
            got.push_back(step);
        }
        std::sort(got.begin(), got.end());
        CHECK(got == Steps{0, 1, 2, 3, 4, 5});
        CHECK(std::count(got.begin(), got.end(), lost) == 1);
    }
}

TEST_CASE("a job that leaves hands on what it has not begun; the last leaves it waiting") {
    Stream s(shared(StepsTo::RoundRobin));
    const int a = s.join()[0];
    const int b = s.join()[0];
    for (std::uint64_t step = 0; step < 4; ++step) {
        REQUIRE(s.write(step));
    }
    const auto first = s.read(a);
    leave(s.control, a);
    Steps of_b = read_all(s, b);
    of_b.push_back(*first);
    std::sort(of_b.begin(), of_b.end());
    CHECK(of_b == Steps{0, 1, 2, 3});
    REQUIRE(s.write(4));
    leave(s.control, b);
    CHECK(s.read(s.join()[0]) == 4);
}

TEST_CASE("a full queue waits for those that share it, and room comes from any of them") {
    Stream s(shared(StepsTo::OnDemand, 2));
    const int a = s.join()[0];
    const int b = s.join()[0];
    REQUIRE(s.write(0));
    REQUIRE(s.write(1));
    CHECK_FALSE(admit(s.control, 2).has_value());
    CHECK(s.read(b) == 0);
    REQUIRE(s.write(2));
    CHECK(s.read(a) == 1);
    CHECK(s.read(a) == 2);
}

TEST_CASE("a rank that leaves gives up what it has not finished, in whatever order that came") {
    // Step 0 comes to the job after step 1, from one that dies.
    Stream s(shared(StepsTo::OnDemand));
    const auto a = s.join(3);
    const int dying = s.join()[0];
    REQUIRE(s.write(0));
    REQUIRE(s.write(1));
    REQUIRE(take(s.control, dying) >= 0);
    CHECK(s.read(a[0]) == 1);
    CHECK(s.read(a[2]) == 1);
    lose_reader(s.control, dying, "died");
    SUBCASE("having finished the one that came first") {
        CHECK(s.read(a[2]) == 0);
        leave(s.control, a[0]);
        CHECK(s.read(a[1]) == 1);
        CHECK(s.read(a[1]) == 0);
    }
    SUBCASE("having finished none") {
        CHECK(s.read(a[0]) == 0);
        leave(s.control, a[1]);
        CHECK(s.read(a[2]) == 0);
    }
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE("a step that a job was given and has not seen goes to another when it leaves") {
    for (const StepsTo to : {StepsTo::RoundRobin, StepsTo::OnDemand}) {
        Stream s(shared(to));
        const auto a = s.join(2);
        const int b = s.join()[0];
        for (std::uint64_t step = 0; step < 4; ++step) {
            REQUIRE(s.write(step));
        }
        Steps of_b;
        const auto note = [&](std::optional<std::uint64_t> step) { of_b.push_back(*step); };
        const std::uint64_t seen = s.read(a[0]).value();
        REQUIRE(s.read(a[1]) == seen);
        const int unseen = take(s.control, a[0]);
        REQUIRE(unseen >= 0);
        if (to == StepsTo::OnDemand) {
            note(s.read(b));
        }
        leave(s.control, a[0]);
        leave(s.control, a[1]);
        for (const std::uint64_t step : read_all(s, b)) {
            note(step);
        }
        of_b.push_back(seen);
        std::sort(of_b.begin(), of_b.end());
        CHECK(of_b == Steps{0, 1, 2, 3});
        CHECK(queue_depth(s.control) == 0);
    }
}

TEST_CASE("one that some rank of the job has seen does not") {
    Stream s(shared(StepsTo::OnDemand));
    const auto a = s.join(2);
    const int b = s.join()[0];
    REQUIRE(s.write(0));
    REQUIRE(take(s.control, a[0]) >= 0);
    CHECK(s.read(a[1]) == 0);
    leave(s.control, a[0]);
    CHECK_FALSE(s.read(b).has_value());
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE("a job is not at the end while another has steps that may come to it") {
    Stream s(shared(StepsTo::OnDemand));
    const auto a = s.join(2);
    const int b = s.join()[0];
    REQUIRE(s.write(0));
    REQUIRE(take(s.control, a[0]) >= 0);
    close_writer(s.control, 0);
    CHECK_FALSE(at_end(s.control, b, 30));
    SUBCASE("which dies with them") {
        lose_reader(s.control, a[0], "died");
        CHECK(s.read(b) == 0);
    }
    SUBCASE("which finishes them") {
        CHECK(at_end(s.control, a[0], 30));  // what its other rank has not seen is its own
        finish_reading(s.control, a[0], 0);
        CHECK_FALSE(at_end(s.control, b, 30));
        CHECK(s.read(a[1]) == 0);
    }
    CHECK(at_end(s.control, b, 30));
}
