// SPDX-License-Identifier: Apache-2.0
/// Readers with a policy of their own: neither the writer nor other readers notice how slow they
/// are.
#include "fluvial/stage/yielding_groups.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/admission.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

Begin with(FullPolicy full) {
    return {Start::Oldest, 0, full};
}

}  // namespace

TEST_CASE("a reader that discards loses the oldest steps, another beside it none") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    for (std::uint64_t step = 0; step < 10; ++step) {
        CHECK(s.write(step));
        CHECK(s.read(archive) == step);
    }
    CHECK(s.group_of(picture).steps_discarded == 8);
    CHECK(s.read(picture) == 8u);
    CHECK(s.read(picture) == 9u);
    CHECK(s.group_of(archive).steps_discarded == 0);
    CHECK(s.counters().steps_discarded == 0);
}

TEST_CASE("the writer still waits for the reader that has no policy of its own") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    s.write(0);
    s.write(1);
    CHECK_FALSE(admit(s.control, 2).has_value());
    CHECK(s.group_of(picture).steps_discarded == 0);
    CHECK(s.read(picture) == 0u);
    CHECK_FALSE(admit(s.control, 2).has_value());
    CHECK(s.read(archive) == 0u);
    CHECK(s.write(2));
}

TEST_CASE("what a reader that discards has in hand leaves a queue of one step") {
    Stream s({.queue_steps = 1, .queue_bytes = 100, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    s.write(0, 100);
    const int slot = take(s.control, picture);
    REQUIRE(slot >= 0);
    CHECK(s.read(archive) == 0u);
    for (std::uint64_t step = 1; step < 4; ++step) {
        CHECK(s.write(step, 100));
        CHECK(s.read(archive) == step);
        CHECK(s.step_in(slot) == 0u);
        CHECK(s.control.slots()[slot].state.load() == SlotState::Complete);
    }
    CHECK(queue_depth(s.control) == 1);
    finish_reading(s.control, picture, slot, true);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Free);
    CHECK(s.read(picture) == 3u);
    CHECK(s.group_of(picture).steps_discarded == 2);
}

TEST_CASE("what a reader that discards has in hand leaves the queue though another views it") {
    Stream s({.queue_steps = 1, .queue_bytes = 100, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    s.write(0, 60);
    REQUIRE(take(s.control, picture) >= 0);
    const int view = take(s.control, archive);
    finish_reading(s.control, archive, view);
    const auto next = admit(s.control, 1);
    REQUIRE(next.has_value());
    CHECK(grant_bytes(s.control, next->slot, 60) == Grant::Wait);  // for the archive's view
    release_lease(s.control, archive, view);
    CHECK(bytes_in_use(s.control) == 0);
    CHECK(grant_bytes(s.control, next->slot, 60) == Grant::Given);
}

TEST_CASE("all ranks of a reader that discards get the same steps, and stay near each other") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const auto picture = s.join(2, with(FullPolicy::DiscardOldest));
    std::vector<std::uint64_t> first, second;
    for (std::uint64_t step = 0; step < 30; ++step) {
        CHECK(s.write(step));
        if (const auto got = s.read(picture[0])) {
            first.push_back(*got);
        }
    }
    CHECK(first.size() == yielding_ahead_max);
    while (const auto got = s.read(picture[1])) {
        second.push_back(*got);
    }
    first.push_back(s.read(picture[0]).value());
    while (const auto got = s.read(picture[0])) {
        first.push_back(*got);
    }
    CHECK(first == second);
    CHECK(second.back() == 29);
    CHECK(second.size() + s.group_of(picture[0]).steps_discarded == 30);
}

TEST_CASE("discard-newest keeps the steps that a reader has before it, and loses those behind") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardNewest))[0];
    for (std::uint64_t step = 0; step < 10; ++step) {
        CHECK(s.write(step));
        CHECK(s.read(archive) == step);
    }
    for (const std::uint64_t step : {0, 1}) {
        CHECK(s.read(picture) == step);
    }
    CHECK(s.read(picture) == std::nullopt);
    CHECK(s.group_of(picture).steps_discarded == 8);
    CHECK(s.write(10));
    CHECK(s.read(picture) == 10u);
}

TEST_CASE("memory beside the queue has the bounds of the queue") {
    Stream s({.queue_steps = 4, .queue_bytes = 100, .full = FullPolicy::Block});
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    std::vector<int> views;
    for (std::uint64_t step = 0; step < 3; ++step) {
        CHECK(s.write(step, 50));
        views.push_back(take(s.control, picture));
        REQUIRE(views.back() >= 0);
        finish_reading(s.control, picture, views.back());
    }
    CHECK(s.write(3, 50));
    CHECK_THROWS_WITH_AS(take(s.control, picture), doctest::Contains("3 steps, 150 bytes"), Error);
    release_lease(s.control, picture, views[0]);
    CHECK(s.read(picture) == 3u);
}

TEST_CASE("a reader that discards and dies or is evicted leaves nothing behind") {
    Stream s({.queue_steps = 1, .full = FullPolicy::Block});
    const int archive = s.join()[0];
    for (const auto full : {FullPolicy::DiscardOldest, FullPolicy::DiscardNewest}) {
        const int picture = s.join(1, with(full))[0];
        const std::uint64_t from = s.counters().steps_begun;
        for (std::uint64_t step = from; step < from + 3; ++step) {
            CHECK(s.write(step));
            CHECK(s.read(archive) == step);
            if (step == from) {
                CHECK(take(s.control, picture) >= 0);
            }
        }
        lose_reader(s.control, picture, "died");
        for (const Slot& slot : s.control.slots()) {
            CHECK(slot.state.load() == SlotState::Free);
        }
    }
}

TEST_CASE("a late reader does not begin with a step that has left the queue") {
    Stream s({.queue_steps = 1, .full = FullPolicy::Block});
    const int picture = s.join(1, with(FullPolicy::DiscardNewest))[0];
    s.write(0);
    s.write(1);
    CHECK(s.read(s.join()[0]) == 1u);
    CHECK(s.read(picture) == 0u);
}

TEST_CASE("where the writer itself discards, its policy holds before and after that of a reader") {
    Stream s({.queue_steps = 2, .full = FullPolicy::DiscardNewest});
    const int other = s.join()[0];
    const int picture = s.join(1, with(FullPolicy::DiscardOldest))[0];
    s.write(0);
    s.write(1);
    CHECK_FALSE(s.write(2));  // of the other, which has read nothing
    CHECK(s.read(other) == 0u);
    CHECK(s.write(3));
    CHECK(s.read(picture) == 1u);
    CHECK(s.group_of(picture).steps_discarded == 2);
    CHECK(s.group_of(other).steps_discarded == 1);
    CHECK(s.counters().steps_discarded == 1);
}

TEST_CASE("a writer says which policies its readers may have") {
    const auto asks = [](const WriterOptions& options, FullPolicy full) {
        const Stream s(options);
        check_admissible(s.control, {.full = number_of(full)});
    };
    CHECK_NOTHROW(asks({.full = FullPolicy::Block}, FullPolicy::Block));
    CHECK_NOTHROW(asks({.full = FullPolicy::Spill}, FullPolicy::Spill));
    CHECK_NOTHROW(asks({.full = FullPolicy::Spill}, FullPolicy::DiscardOldest));
    CHECK_NOTHROW(asks({.retain = "/tmp"}, FullPolicy::Spill));
    CHECK_THROWS_WITH_AS(asks({.full = FullPolicy::DiscardOldest}, FullPolicy::Block),
                         doctest::Contains("a reader cannot make the writer wait"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(asks({.full = FullPolicy::Block}, FullPolicy::Spill),
                         doctest::Contains("Give the writer the option retain"), InvalidArgument);
    CHECK_THROWS_WITH_AS(asks({.steps_to = StepsTo::OnDemand}, FullPolicy::DiscardOldest),
                         doctest::Contains("steps_to='on-demand'"), InvalidArgument);
}
