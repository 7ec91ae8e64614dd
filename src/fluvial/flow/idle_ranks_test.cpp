// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/idle_ranks.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

using Ranks = std::vector<int>;

std::optional<Ranks> choose(const IdleRanks& idle, int width) {
    return idle.choose(width, std::nullopt, -1);
}

}  // namespace

TEST_CASE("teams of powers of two are aligned blocks, out of the smallest hole") {
    IdleRanks idle(Ranks(16, 0));
    idle.take({0});
    CHECK(choose(idle, 1) == Ranks{1});
    CHECK(choose(idle, 2) == Ranks{2, 3});
    CHECK(choose(idle, 4) == Ranks{4, 5, 6, 7});
    CHECK(choose(idle, 8) == Ranks{8, 9, 10, 11, 12, 13, 14, 15});
    idle.take({8, 9, 10, 11, 12, 13, 14, 15});
    CHECK(choose(idle, 4) == Ranks{4, 5, 6, 7});
    CHECK(choose(idle, 7) == Ranks{1, 2, 3, 4, 5, 6, 7});
    CHECK_FALSE(choose(idle, 8));
    idle.give_back(0);
    CHECK(choose(idle, 8) == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a team of another width is taken from a block, too") {
    const IdleRanks idle(Ranks(8, 0));
    CHECK(choose(idle, 3) == Ranks{0, 1, 2});
    CHECK(choose(idle, 5) == Ranks{0, 1, 2, 3, 4});
    CHECK(choose(idle, 8)->size() == 8);
    CHECK_FALSE(choose(idle, 9));
}

TEST_CASE("a team stays on one host where one has enough idle ranks") {
    IdleRanks idle(Ranks{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
    idle.take({0, 1});
    CHECK(choose(idle, 3) == Ranks{2, 5, 8});
    idle.take({2});
    CHECK(choose(idle, 3) == Ranks{3, 6, 9});
    idle.give_back(2);
    CHECK(choose(idle, 4) == Ranks{2, 5, 8, 11});
    CHECK(choose(idle, 5)->size() == 5);
}

TEST_CASE("a wish for a place is met where it can be") {
    IdleRanks idle(Ranks{0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(idle.choose(1, Near{6}, -1) == Ranks{6});
    CHECK(idle.choose(2, Near{6}, -1) == Ranks{4, 6});
    CHECK(idle.choose(2, Near{6, true}, -1) == Ranks{4, 5});
    CHECK(idle.choose(6, Near{6}, -1) == Ranks{0, 1, 2, 3, 4, 6});
    idle.take({6});
    CHECK(idle.choose(1, Near{6}, -1) == Ranks{4});
    CHECK_FALSE(idle.choose(1, Near{6, false, true}, -1));
    CHECK_FALSE(idle.choose(4, Near{6, true, true}, -1));
    CHECK(idle.choose(4, Near{6, true}, -1) == Ranks{0, 1, 2, 3});
}

TEST_CASE("a rank to avoid is taken only when there is no other") {
    IdleRanks idle(Ranks(4, 0));
    CHECK(idle.choose(1, std::nullopt, 0) == Ranks{1});
    CHECK(idle.choose(3, std::nullopt, 0) == Ranks{1, 2, 3});
    CHECK(idle.choose(4, std::nullopt, 0)->size() == 4);
    idle.retire(2);
    CHECK(idle.count() == 3);
    idle.give_back(2);
    CHECK(idle.count() == 3);
}

TEST_CASE("whatever is taken and given back, a team has idle ranks, each once") {
    std::mt19937 random(test_seed(5));
    const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    for (int trial = 0; trial < 100; ++trial) {
        const int ranks = 1 + below(40);
        Ranks hosts(static_cast<std::size_t>(ranks));
        std::ranges::generate(hosts, [&] { return below(3); });
        IdleRanks idle(hosts);
        std::vector<Ranks> taken;
        for (int turn = 0; turn < 50; ++turn) {
            const int width = 1 + below(ranks);
            std::optional<Near> near;
            if (below(2) == 0) {
                near = Near{below(ranks), below(2) == 0, false};
            }
            if (const auto team = idle.choose(width, near, below(ranks + 1) - 1)) {
                REQUIRE(static_cast<int>(team->size()) == width);
                REQUIRE(std::ranges::adjacent_find(*team, std::greater_equal()) == team->end());
                REQUIRE(std::ranges::all_of(*team, [&](int rank) { return idle.idle(rank); }));
                idle.take(*team);
                taken.push_back(*team);
            } else {
                REQUIRE(width > idle.count());
            }
            if (!taken.empty() && below(2) == 0) {
                for (const int rank : taken.back()) {
                    idle.give_back(rank);
                }
                taken.pop_back();
            }
        }
    }
}
