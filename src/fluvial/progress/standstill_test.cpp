// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/standstill.hpp"

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
    Mailbox mailbox(world());
    Standstill standstill(mailbox, world_rank(), world_size());
    bool found = false;
    for (int round = 0; round < 6; ++round) {
        const bool is_last = world_rank() == world_size() - 1;
        const Movement mine = is_last ? last(round) : Movement{7, 0, 0};
        const auto exchange = [&] {
            for (int looks = 0; looks < 12; ++looks) {
                while (const auto mail = mailbox.poll()) standstill.take(*mail);
                standstill.answer(mine);
                mailbox.sent();
                world().barrier();
            }
        };
        if (world_rank() == 0) found = found || standstill.found(mine);
        exchange();
    }
    mailbox.drain();
    return world().any(found);
}

}  // namespace

TEST_CASE("nothing moves any more when nobody has moved and nothing is under way") {
    CHECK(found_with([](int) { return Movement{5, 0, 0}; }));
}

TEST_CASE("who moves, or has something under way, is waited for") {
    CHECK_FALSE(
        found_with([](int round) { return Movement{static_cast<std::uint64_t>(round), 0, 0}; }));
    CHECK_FALSE(found_with([](int) { return Movement{5, 8, 0}; }));
    CHECK_FALSE(found_with([](int) { return Movement{5, 0, 1}; }));
}

TEST_CASE("who does not answer is waited for") {
    if (world_size() < 2) return;
    Mailbox mailbox(world());
    Standstill standstill(mailbox, world_rank(), world_size());
    const Movement mine;
    for (int looks = 0; looks < 50; ++looks) {
        while (const auto mail = mailbox.poll()) standstill.take(*mail);
        if (world_rank() != world_size() - 1) standstill.answer(mine);
        if (world_rank() == 0) CHECK_FALSE(standstill.found(mine));
        mailbox.sent();
        world().barrier();
    }
    mailbox.drain();
}
