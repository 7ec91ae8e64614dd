// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/team_cache.hpp"

#include <doctest/doctest.h>

using namespace fluvial::flow;

TEST_CASE("a team that comes again has its communicator again") {
    TeamCache cache(8);
    const auto first = cache.use({0, 1});
    CHECK(first.is_new);
    const auto other = cache.use({1, 2});
    CHECK(other.team != first.team);
    const auto again = cache.use({0, 1});
    CHECK_FALSE(again.is_new);
    CHECK(again.team == first.team);
}

TEST_CASE("a rank keeps its blocks, and of other teams those it used last") {
    TeamCache cache(16, 2);
    for (int width = 1; width <= 16; width *= 2) {
        std::vector<int> block;
        for (int rank = 0; rank < width; ++rank) {
            block.push_back(rank);
        }
        cache.use(block);
    }
    const auto first = cache.use({0, 2});
    cache.use({0, 3});
    cache.use({0, 2});
    const auto third = cache.use({0, 4});
    REQUIRE(third.gone.size() == 1);
    CHECK(third.gone.front().ranks == std::vector<int>{0, 3});
    CHECK(cache.use({0, 2}).team == first.team);
    for (int rank = 1; rank < 16; ++rank) {
        for (int other = rank + 1; other < 16; ++other) {
            cache.use({0, rank, other});
            REQUIRE(cache.kept_by(0) <= 5 + 2);
            REQUIRE(cache.kept_by(rank) <= 5 + 2);
        }
    }
}
