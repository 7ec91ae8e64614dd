// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/quiescence.hpp"

#include <cstdint>
#include <functional>

#include <doctest/doctest.h>

#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

/// All ranks call found() when they have had time to answer; true when the first rank found it
/// within a few rounds. What the last rank says of itself is up to `last`.
bool found_with(const std::function<Movement(int round)>& last) {
    ControlMessages control(world());
    Quiescence quiescence(control, world_rank(), world_size());
    bool found = false;
    for (int round = 0; round < 6; ++round) {
        const bool is_last = world_rank() == world_size() - 1;
        const Movement mine = is_last ? last(round) : Movement{7, 0, 0};
        const auto exchange = [&] {
            for (int looks = 0; looks < 12; ++looks) {
                while (const auto message = control.poll()) {
                    control.handle(*message);
                }
                quiescence.answer(mine);
                control.sent();
                world().barrier();
            }
        };
        if (world_rank() == 0) {
            found = found || quiescence.found(mine);
        }
        exchange();
    }
    control.drain();
    return world().any(found);
}

}  // namespace

TEST_CASE("nothing moves any more when no rank has moved and nothing is under way") {
    CHECK(found_with([](int) { return Movement{5, 0, 0}; }));
}

TEST_CASE("a rank that moves, or has something under way, is waited for") {
    CHECK_FALSE(
        found_with([](int round) { return Movement{static_cast<std::uint64_t>(round), 0, 0}; }));
    CHECK_FALSE(found_with([](int) { return Movement{5, 8, 0}; }));
    CHECK_FALSE(found_with([](int) { return Movement{5, 0, 1}; }));
}

TEST_CASE("a rank that does not answer is waited for") {
    if (world_size() < 2) {
        return;
    }
    ControlMessages control(world());
    Quiescence quiescence(control, world_rank(), world_size());
    const Movement mine;
    for (int looks = 0; looks < 50; ++looks) {
        while (const auto message = control.poll()) {
            control.handle(*message);
        }
        if (world_rank() != world_size() - 1) {
            quiescence.answer(mine);
        }
        if (world_rank() == 0) {
            CHECK_FALSE(quiescence.found(mine));
        }
        control.sent();
        world().barrier();
    }
    control.drain();
}
