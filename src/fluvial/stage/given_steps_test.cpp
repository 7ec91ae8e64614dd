// SPDX-License-Identifier: Apache-2.0
/// Steps that are shared out, of a writer on two hosts: the first gives them out, the second
/// follows.
#include "fluvial/stage/given_steps.hpp"

#include <optional>
#include <vector>

#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial::stage;

namespace {

WriterOptions shared(StepsTo to, int queue_steps = 8) {
    WriterOptions options;
    options.steps_to = to;
    options.queue_steps = queue_steps;
    return options;
}

/// The queue of the second host.
struct Follower : Stream {
    explicit Follower(int queue_steps = 8, FullPolicy full = FullPolicy::Block)
        : Stream(with(queue_steps, full)) {
        follow_first_host(control);
    }
    static WriterOptions with(int queue_steps, FullPolicy full) {
        WriterOptions options = shared(StepsTo::RoundRobin, queue_steps);
        options.full = full;
        return options;
    }

    enum class Outcome { Step, Wait, Gone };
    /// Asks for a step, which is kept.
    Outcome ask(int cell, std::uint64_t step) {
        const Taken taken = take_given(control, cell, step);
        if (!taken.any()) {
            return taken.gone ? Outcome::Gone : Outcome::Wait;
        }
        CHECK(step_in(taken.slot) == step);
        slot = taken.slot;
        return Outcome::Step;
    }
    void finish(int cell) { finish_reading(control, cell, slot, true); }
    Outcome read(int cell, std::uint64_t step) {
        const Outcome outcome = ask(cell, step);
        if (outcome == Outcome::Step) {
            finish(cell);
        }
        return outcome;
    }
    int slot = -1;
};
using Outcome = Follower::Outcome;

void write_some(Stream& s, std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
        REQUIRE(s.write(step));
    }
}

}  // namespace

TEST_CASE("a job gets the step that it asks for, and no other job does") {
    Follower s;
    const auto a = s.join(2);
    const int b = s.join()[0];
    write_some(s, 4);
    CHECK(s.read(a[0], 1) == Outcome::Step);
    CHECK(s.read(b, 0) == Outcome::Step);
    CHECK(s.read(a[1], 1) == Outcome::Step);
    CHECK(s.read(b, 3) == Outcome::Step);
    CHECK(s.read(a[1], 2) == Outcome::Step);
    CHECK(s.read(a[0], 2) == Outcome::Step);
    CHECK(queue_depth(s.control) == 0);
    CHECK(s.counters().steps_unread == 0);
    CHECK(s.counters().steps_discarded == 0);
}

TEST_CASE("without a number a queue that follows gives nothing") {
    Follower s;
    const int a = s.join()[0];
    write_some(s, 1);
    CHECK(take(s.control, a) < 0);
}

TEST_CASE("a job that came after a step was complete gets it, if it is given that") {
    Follower s;
    const int a = s.join()[0];
    write_some(s, 2);
    const int b = s.join(1, Start::Next)[0];
    CHECK(s.read(b, 0) == Outcome::Step);
    CHECK(s.read(a, 1) == Outcome::Step);
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE("a step that has not been written is waited for, one that was dropped is gone") {
    Follower s(2, FullPolicy::DiscardOldest);
    const int a = s.join()[0];
    CHECK(s.read(a, 0) == Outcome::Wait);
    write_some(s, 3);
    CHECK(s.read(a, 0) == Outcome::Gone);
    CHECK(s.read(a, 1) == Outcome::Step);
    const auto begun = admit(s.control, 3);
    CHECK(s.read(a, 3) == Outcome::Wait);
    give_up(s.control, begun->slot);
    CHECK(s.read(a, 3) == Outcome::Gone);
}

TEST_CASE("a step that a job dies with goes to the job that is given it next") {
    Follower s;
    const auto a = s.join(2);
    const int b = s.join()[0];
    write_some(s, 2);
    CHECK(s.read(a[0], 0) == Outcome::Step);
    CHECK(s.ask(a[1], 0) == Outcome::Step);
    SUBCASE("which is noticed here before") {
        lose_reader(s.control, a[1], "died");
        CHECK(s.read(b, 0) == Outcome::Step);
    }
    SUBCASE("which is noticed here while that has it") {
        CHECK(s.ask(b, 0) == Outcome::Step);
        lose_reader(s.control, a[1], "died");
        s.finish(b);
    }
    SUBCASE("which is noticed here afterwards") {
        CHECK(s.read(b, 0) == Outcome::Step);
        lose_reader(s.control, a[1], "died");
        settle(s.control, {1, {}});
    }
    CHECK(s.read(b, 1) == Outcome::Step);
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE(
    "what the first host is done with leaves the queue, but for what a job has in its hands") {
    Follower s(4);
    const int a = s.join()[0];
    const int b = s.join()[0];
    write_some(s, 4);
    CHECK(s.ask(b, 1) == Outcome::Step);
    CHECK_FALSE(admit(s.control, 4).has_value());
    settle(s.control, {4, {3}});
    CHECK(queue_depth(s.control) == 2);
    s.finish(b);
    CHECK(queue_depth(s.control) == 1);
    CHECK(s.read(a, 3) == Outcome::Step);
    CHECK(s.counters().steps_discarded == 0);
    SUBCASE("also what completes later") {
        settle(s.control, {5, {}});
        REQUIRE(s.write(4));
        CHECK(queue_depth(s.control) == 0);
        REQUIRE(s.write(5));
        CHECK(queue_depth(s.control) == 1);
    }
    SUBCASE("also what a job had that died") {
        REQUIRE(s.write(4));
        CHECK(s.ask(a, 4) == Outcome::Step);
        settle(s.control, {5, {}});
        CHECK(queue_depth(s.control) == 1);
        lose_reader(s.control, a, "died");
        CHECK(queue_depth(s.control) == 0);
    }
}

TEST_CASE("what is over leaves the queue also while the first host has an older step") {
    Follower s(4);
    const int a = s.join()[0];
    write_some(s, 3);
    CHECK(s.ask(a, 0) == Outcome::Step);
    settle(s.control, {3, {0, 2}});
    CHECK(queue_depth(s.control) == 2);
    REQUIRE(s.write(3));
    CHECK(queue_depth(s.control) == 3);
    settle(s.control, {4, {0}});
    CHECK(queue_depth(s.control) == 1);
}

TEST_CASE("the first host says which of its steps are not over") {
    using Open = std::vector<std::uint64_t>;
    Stream s(shared(StepsTo::OnDemand, 3));
    const int a = s.join()[0];
    const int b = s.join()[0];
    OpenSteps told = open_steps(s.control);
    const auto told_again = [&] {
        OpenSteps now = open_steps(s.control);
        const bool more = some_ended(told, now);
        told = std::move(now);
        return more;
    };
    CHECK(told.begun == 0);
    write_some(s, 3);
    CHECK_FALSE(told_again());
    CHECK(told.open == Open{0, 1, 2});
    const int held = take(s.control, a);
    CHECK(s.read(b) == 1);
    CHECK(told_again());
    CHECK(told.open == Open{0, 2});
    finish_reading(s.control, a, held, true);
    CHECK(s.read(b) == 2);
    CHECK(told_again());
    CHECK(told.open.empty());
    const auto begun = admit(s.control, 3);
    CHECK_FALSE(told_again());
    CHECK(told.open == Open{3});
    give_up(s.control, begun->slot);
    CHECK(told_again());
    CHECK(told.begun == 4);
    CHECK(told.open.empty());
    give_up(s.control, admit(s.control, 4)->slot);  // begun and over since it was told
    CHECK(told_again());
}
