// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/max_flow.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

MaxFlow between(Node nodes, const std::vector<Arc>& arcs, std::vector<Node> sources,
                std::vector<Node> sinks) {
    return max_flow(nodes, arcs, sources, sinks);
}

}  // namespace

TEST_CASE("the textbook's network") {  // Cormen et al., figure 26.1
    const std::vector<Arc> arcs{{0, 1, 16}, {0, 2, 13}, {1, 3, 12}, {2, 1, 4}, {2, 4, 14},
                                {3, 2, 9},  {3, 5, 20}, {4, 3, 7},  {4, 5, 4}};
    const MaxFlow found = between(6, arcs, {0}, {5});
    CHECK(found.value == 23);
    CHECK(found.source_side == std::vector<bool>{true, true, true, false, true, false});
}

TEST_CASE("several sources and sinks count together, also when one is named twice") {
    const std::vector<Arc> arcs{{0, 2, 1}, {1, 2, 2}, {2, 3, 2.5}, {2, 4, 0.25}};
    CHECK(between(5, arcs, {0, 1}, {3, 4}).value == 2.75);
    CHECK(between(5, arcs, {1, 1}, {4, 4}).value == 0.25);
    CHECK(between(5, arcs, {3}, {0}).value == 0);
}

TEST_CASE("a flow is one: kept at nodes, within capacities, as large as its cut") {
    std::mt19937 random(test_seed(1401));
    for (int trial = 0; trial < 300; ++trial) {
        const Node nodes = static_cast<Node>(2 + random() % 12);
        std::vector<Arc> arcs;
        for (unsigned i = random() % 40; i-- > 0;) {
            arcs.push_back({static_cast<Node>(random() % static_cast<unsigned>(nodes)),
                            static_cast<Node>(random() % static_cast<unsigned>(nodes)),
                            static_cast<double>(random() % 9)});
        }
        const MaxFlow found = between(nodes, arcs, {0}, {nodes - 1});
        std::vector<double> gain(static_cast<std::size_t>(nodes), 0);
        double cut = 0;
        for (std::size_t i = 0; i < arcs.size(); ++i) {
            const auto from = static_cast<std::size_t>(arcs[i].from);
            const auto to = static_cast<std::size_t>(arcs[i].to);
            REQUIRE(found.flow[i] >= 0);
            REQUIRE(found.flow[i] <= arcs[i].capacity);
            gain[from] -= found.flow[i];
            gain[to] += found.flow[i];
            cut += found.source_side[from] && !found.source_side[to] ? arcs[i].capacity : 0;
        }
        REQUIRE(gain.back() == found.value);
        REQUIRE(cut == found.value);
        REQUIRE(std::count(gain.begin() + 1, gain.end() - 1, 0.0) == nodes - 2);
    }
}

TEST_CASE("how many ways there are, and how much they carry") {
    const TopologyPtr torus = make_topology("torus:4x4x4,bandwidth=2");
    const std::vector<Node> one{0}, other{21}, three{1, 2, 3};
    CHECK(disjoint_ways(torus->graph(), one, other) == 6);
    CHECK(max_bandwidth(torus->graph(), one, other).value == 12);
    CHECK(disjoint_ways(torus->graph(), three, other) == 6);
    const TopologyPtr tree = make_topology("fattree:4x4,up=1x2");
    CHECK(disjoint_ways(tree->graph(), one, three) == 1);
    CHECK(disjoint_ways(tree->graph(), three, std::vector<Node>{4, 8, 12}) == 2);
}

TEST_CASE("what is no flow says why") {
    CHECK_THROWS_AS(between(2, {}, {}, {1}), InvalidArgument);
    CHECK_THROWS_AS(between(2, {}, {0}, {}), InvalidArgument);
    CHECK_THROWS_WITH_AS(between(2, {}, {0, 1}, {1}), doctest::Contains("a source and a sink"),
                         InvalidArgument);
    CHECK_THROWS_AS(between(2, {}, {2}, {1}), OutOfBounds);
    CHECK_THROWS_AS(between(2, {{0, -1, 1}}, {0}, {1}), OutOfBounds);
    CHECK_THROWS_AS(between(2, {{0, 1, -1}}, {0}, {1}), InvalidArgument);
    CHECK_THROWS_AS(between(2, {{0, 1, HUGE_VAL}}, {0}, {1}), InvalidArgument);
    CHECK_THROWS_WITH_AS(between(2, {{0, 1, 1e308}, {0, 1, 1e308}}, {0}, {1}),
                         doctest::Contains("a sum that is out of range"), InvalidArgument);
    CHECK_THROWS_WITH_AS(between(0, {}, {0}, {1}), doctest::Contains("the graph has no nodes"),
                         OutOfBounds);
}
