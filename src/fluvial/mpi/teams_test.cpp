// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/teams.hpp"

#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

TEST_CASE("a team is made by its ranks alone, in the order given") {
    Teams teams(world());
    const int last = world_size() - 1;
    if (world_rank() == 0 || world_rank() == last) {
        const std::vector<int> ranks = last == 0 ? std::vector{0} : std::vector{last, 0};
        Comm team = teams.make(ranks);
        CHECK(team.size() == static_cast<int>(ranks.size()));
        CHECK(ranks[static_cast<std::size_t>(team.rank())] == world_rank());
        CHECK(team.sum(1) == team.size());
        team.close();
    }
    teams.close();
}

TEST_CASE("messages that are under way in the parent do not keep a team from being made") {
    Teams teams(world());
    const int next = (world_rank() + 1) % world_size();
    const int previous = (world_rank() + world_size() - 1) % world_size();
    const std::vector<std::byte> bytes(1 << 20);
    Request under_way = world().isend(bytes, next, 0);
    std::vector<int> all(static_cast<std::size_t>(world_size()));
    std::iota(all.begin(), all.end(), 0);
    Comm team = teams.make(all);
    CHECK(team.sum(1) == world_size());
    CHECK(world().recv(previous, 0).size() == bytes.size());
    under_way.wait();
    team.close();
    teams.close();
}

TEST_CASE("overlapping teams, made in one order") {
    Teams teams(world());
    for (int turn = 0; turn < 50; ++turn) {
        for (int first = 0; first + 1 < world_size(); ++first) {
            if (world_rank() == first || world_rank() == first + 1) {
                Comm team = teams.make({first, first + 1});
                CHECK(team.sum(world_rank()) == 2 * first + 1);
                team.close();
            }
        }
    }
    teams.close();
}

TEST_CASE("what is no team is refused") {
    const Comm serial;
    Teams teams(serial);
    CHECK(teams.make({0}).serial());
    CHECK_THROWS_WITH_AS(teams.make({0, 0}),
                         "these ranks are no team: got ranks 0, 0; allowed: one or more of 0 to 0, "
                         "each once",
                         InvalidArgument);
    CHECK_THROWS_AS(teams.make({}), InvalidArgument);
    CHECK_THROWS_AS(teams.make({1}), InvalidArgument);
    if (world_size() > 1) {
        Teams real(world());
        CHECK_THROWS_AS(real.make({(world_rank() + 1) % world_size()}), InvalidArgument);
        real.close();
    }
}
