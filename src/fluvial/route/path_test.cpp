// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/path.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::route;

TEST_CASE("hops that the network takes anyway need no proxy") {
    const TopologyPtr torus = make_topology("torus:5x5");
    // 0 → 5 → 6 is the route of the network, along the first dimension and then the second.
    CHECK(path_over(*torus, path_along(*torus, {0, 5, 6}).links)->stops == std::vector<Node>{0, 6});
    // 0 → 1 → 6 turns the other way round, so data has to stop at 1.
    const Path turned = path_along(*torus, {0, 1, 6});
    CHECK(*path_over(*torus, turned.links) == turned);
    // All around a dimension: the network would take the shorter way.
    CHECK(path_over(*torus, path_along(*torus, {0, 1, 2, 3, 4}).links)->proxies() == 1);
}

TEST_CASE("links that no chain of routes takes are no path") {
    const TopologyPtr tree = make_topology("fattree:2x2,up=1x2");
    // Up to the top and down again to the switch below, where the route would have turned.
    const Graph& graph = tree->graph();
    const LinkId up = *graph.between(0, 4), on = *graph.between(4, 6);
    const LinkId back = *graph.between(6, 4), down = *graph.between(4, 1);
    CHECK(!path_over(*tree, {up, on, back, down}).has_value());
    CHECK(path_over(*tree, {up, down})->stops == std::vector<Node>{0, 1});
    CHECK_THROWS_AS(path_over(*tree, {up, back}), InvalidArgument);
    CHECK_THROWS_AS(path_over(*tree, {up}), InvalidArgument);
    CHECK_THROWS_AS(path_over(*tree, {}), InvalidArgument);
    CHECK_THROWS_AS(path_along(*tree, {0}), InvalidArgument);
    CHECK_THROWS_AS(path_along(*tree, {0, 4}), OutOfBounds);
}
