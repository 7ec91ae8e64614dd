// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/aggregators.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::move;
using Writers = std::vector<int>;

TEST_CASE("each part is written where it lies already, and not by its number") {
    // The first half of the file is rank 3's, the second one rank 1's.
    const std::vector<Extent> extents{{0, 1000, 3}, {1000, 1000, 1}};
    CHECK(choose_aggregators(*route::make_topology("torus:4"), extents, 4, 2) == Writers{3, 1});
}

TEST_CASE("data of one host goes to hosts on both sides of it, not through one link") {
    // On a chain of five hosts the one in the middle has all: three links would carry two parts if
    // all writers were on one side.
    const std::vector<Extent> extents{{0, 3000, 2}};
    const Writers writers = choose_aggregators(*route::make_topology("mesh:5"), extents, 5, 3);
    CHECK(std::count(writers.begin(), writers.end(), 2) == 1);
    CHECK(std::any_of(writers.begin(), writers.end(), [](int rank) { return rank < 2; }));
    CHECK(std::any_of(writers.begin(), writers.end(), [](int rank) { return rank > 2; }));
}

TEST_CASE("any data: as many writers as asked for, each once, and the same ones every time") {
    std::mt19937 random(test_seed(2613));
    const route::TopologyPtr torus = route::make_topology("torus:3x3");
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<Extent> extents;
        std::uint64_t place = 0;
        for (unsigned i = random() % 20; i-- > 0;) {
            const std::uint64_t bytes = 1 + random() % 1000;
            extents.push_back({place, bytes, static_cast<int>(random() % 9)});
            place += bytes + random() % 3;
        }
        const std::size_t count = random() % 12;
        const Writers writers = choose_aggregators(*torus, extents, 9, count);
        REQUIRE(writers.size() == (count == 0 || count > 9 ? 9 : count));
        REQUIRE(std::set<int>(writers.begin(), writers.end()).size() == writers.size());
        REQUIRE(writers == choose_aggregators(*torus, extents, 9, count));
    }
}

TEST_CASE("a rank on no host is named") {
    CHECK_THROWS_WITH_AS(choose_aggregators(*route::make_topology("torus:3"), {}, 4, 1),
                         doctest::Contains("no host for a rank: got rank 3"), InvalidArgument);
}
