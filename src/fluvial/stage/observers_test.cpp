// SPDX-License-Identifier: Apache-2.0
/// Readers that observe: whatever they do, other readers and writers notice nothing.
#include <doctest/doctest.h>

#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

TEST_CASE("an observer gets the newest complete step, and each once") {
    Stream s({.queue_steps = 4});
    const int reader = s.join()[0];
    const int onlooker = s.join(1, Start::Observe)[0];
    CHECK(s.read(onlooker) == std::nullopt);
    s.write(0);
    s.write(1);
    CHECK(s.read(onlooker) == 1u);
    CHECK(s.read(onlooker) == std::nullopt);
    s.write(2);
    CHECK(s.read(onlooker) == 2u);
    for (const std::uint64_t step : {0, 1, 2}) {
        CHECK(s.read(reader) == step);
    }
    CHECK(queue_depth(s.control) == 0);
}

TEST_CASE("a writer does not wait for an observer, count it, or report it as lost") {
    Stream s({.queue_steps = 1, .full = FullPolicy::Block});
    const int onlooker = s.join(1, Start::Observe)[0];
    CHECK(active_groups(s.control) == 0);
    CHECK(s.counters().groups_joined == 0);
    for (std::uint64_t step = 0; step < 5; ++step) {  // no reader wants them: each makes room
        CHECK(s.write(step));
    }
    leave(s.control, onlooker);
    vacate(s.control, onlooker);
    CHECK(s.counters().groups_lost == 0);
    CHECK(s.counters().groups_evicted == 0);
}

TEST_CASE("a step that no reader has wanted yet still waits for a late reader after a look") {
    Stream s({.queue_steps = 2});
    const int onlooker = s.join(1, Start::Observe)[0];
    s.write(0);
    CHECK(s.read(onlooker) == 0u);
    CHECK(queue_depth(s.control) == 1);
    CHECK(s.read(s.join()[0]) == 0u);
}

TEST_CASE("memory that an observer views is set aside, and freed when the observer releases it") {
    Stream s({.queue_steps = 1, .queue_bytes = 100, .full = FullPolicy::Block});
    const int reader = s.join()[0];
    const int onlooker = s.join(1, Start::Observe)[0];
    s.write(0, 100);
    const int slot = take(s.control, onlooker);
    CHECK(slot >= 0);
    CHECK_FALSE(admit(s.control, 1).has_value());  // of the reader, as without it
    CHECK(bytes_in_use(s.control) == 100);
    CHECK(s.read(reader) == 0u);
    CHECK(queue_depth(s.control) == 0);
    CHECK(bytes_in_use(s.control) == 0);
    CHECK(s.write(1, 100));
    CHECK(s.read(reader) == 1u);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Complete);
    finish_reading(s.control, onlooker, slot);
    release_lease(s.control, onlooker, slot);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Free);
}

TEST_CASE("discard-oldest drops a merely observed step, once, and leaves the observer its memory") {
    Stream s({.queue_steps = 1, .queue_bytes = 100, .full = FullPolicy::DiscardOldest});
    const int reader = s.join()[0];
    const int onlooker = s.join(1, Start::Observe)[0];
    s.write(0, 100);
    const int slot = take(s.control, onlooker);
    CHECK(s.write(1, 100));
    CHECK(s.counters().steps_discarded == 1);
    CHECK(s.step_in(slot) == 0);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Complete);
    CHECK(s.read(reader) == 1u);
    CHECK(s.write(2, 100));
    CHECK(s.counters().steps_discarded == 1);
    release_lease(s.control, onlooker, slot);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Free);
}

TEST_CASE("a step that no reader wants is dropped while it is observed, too") {
    Stream s({.queue_steps = 1, .full = FullPolicy::DiscardNewest});
    const int onlooker = s.join(1, Start::Observe)[0];
    s.write(0);
    const int slot = take(s.control, onlooker);
    CHECK(s.write(1));
    CHECK(s.write(2));
    CHECK(s.counters().steps_unread == 2);
    CHECK(s.counters().steps_discarded == 0);
    release_lease(s.control, onlooker, slot);
    CHECK(s.read(onlooker) == 2u);
}

TEST_CASE("a reserved step that is looked at makes room once") {
    Stream s({.queue_steps = 4, .reserve = 2, .queue_bytes = 250});
    const int onlooker = s.join(1, Start::Observe)[0];
    s.write(0, 100);
    const int slot = take(s.control, onlooker);
    REQUIRE(slot >= 0);
    for (std::uint64_t step = 1; step < 6; ++step) {
        CHECK(s.write(step, 100));
        CHECK(bytes_in_use(s.control) <= 250);
        CHECK(queue_depth(s.control) <= 4);
    }
    finish_reading(s.control, onlooker, slot);
    release_lease(s.control, onlooker, slot);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Free);
}

TEST_CASE("observers leave the writer places for its steps") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const int onlooker = s.join(1, Start::Observe)[0];
    int kept = 0;
    const auto look_at_all = [&] {
        for (std::uint64_t step = 0; step < 200; ++step) {
            REQUIRE(s.write(step));
            const int slot = take(s.control, onlooker);
            REQUIRE(slot >= 0);
            finish_reading(s.control, onlooker, slot);
            ++kept;
        }
    };
    CHECK_THROWS_WITH_AS(look_at_all(), doctest::Contains("Let arrays of earlier steps go"), Error);
    CHECK(kept > 4);
    for (std::uint64_t step = static_cast<std::uint64_t>(kept) + 1; step < 100; ++step) {
        CHECK(s.write(step));
    }
}
