// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/taken_over_steps.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// A reader that was given steps 0, 1 and 2 of four.
struct Given {
    Given() {
        for (std::uint64_t step = 0; step < 4; ++step) {
            stream.write(step);
        }
        for (int taken = 0; taken < 3; ++taken) {
            slots.push_back(take(stream.control, cell));
        }
    }
    TakenOverSteps take_over(std::uint64_t came, std::vector<std::uint64_t> holds) {
        const ControlLock lock(stream.control);
        return take_over_steps(
            stream.control, cell,
            {.token = {}, .came = came, .holds = std::move(holds), .wanted = {}});
    }
    const ReaderCell& reader() const { return stream.control.reader(cell); }

    Stream stream{WriterOptions{.queue_steps = 4}};
    int cell = stream.join()[0];
    std::vector<int> slots;
};

}  // namespace

TEST_CASE("of the steps of a reader some are held, some did not come, and the others go back") {
    Given given;
    const TakenOverSteps steps = given.take_over(2, {1});
    REQUIRE(steps.held.size() == 1);
    CHECK(steps.held[0].step == 1);
    REQUIRE(steps.unsent.size() == 1);
    CHECK(steps.unsent[0].step == 2);
    CHECK(steps.unsent[0].slot == given.slots[2]);
    CHECK(given.reader().steps_finished == 1);
    CHECK_FALSE(has_lease(given.reader(), given.slots[0]));
    CHECK(has_lease(given.reader(), given.slots[1]));
}

TEST_CASE("a step of which one half has been given back is finished once") {
    Given given;
    finish_reading(given.stream.control, given.cell, given.slots[0]);
    given.take_over(3, {1, 2});
    CHECK(given.reader().steps_finished == 1);
    CHECK_FALSE(has_lease(given.reader(), given.slots[0]));
}

TEST_CASE("a step that left the queue on its way is named, and nothing else changes") {
    Given given;
    finish_reading(given.stream.control, given.cell, given.slots[0]);
    release_lease(given.stream.control, given.cell, given.slots[0]);
    CHECK_THROWS_WITH_AS(given.take_over(0, {}),
                         doctest::Contains("step 0 of 'test' was on its way"), PeerLost);
    CHECK(has_lease(given.reader(), given.slots[1]));
    CHECK(given.reader().steps_finished == 1);
}

TEST_CASE("a reader that has got more than it was given is refused") {
    Given given;
    CHECK_THROWS_AS(given.take_over(4, {}), Error);
}
