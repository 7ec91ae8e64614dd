// SPDX-License-Identifier: Apache-2.0
/// What every topology must pass, whatever its network: routes that lead where they should, over
/// links that follow each other, the same at each call.
#pragma once

#include <set>

#include <doctest/doctest.h>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

/// Checks the routes of all pairs of hosts: for topologies of a hundred hosts or so.
inline void check_topology(const Topology& topology) {
    const Graph& graph = topology.graph();
    for (Node from = 0; from < topology.hosts(); ++from) {
        for (Node to = 0; to < topology.hosts(); ++to) {
            CAPTURE(from);
            CAPTURE(to);
            const Route route = topology.route(from, to);
            REQUIRE(route.empty() == (from == to));
            Node at = from;
            for (const LinkId id : route) {
                REQUIRE(graph.link(id).from == at);
                at = graph.link(id).to;
            }
            REQUIRE(at == to);
            REQUIRE(std::set<LinkId>(route.begin(), route.end()).size() == route.size());
            REQUIRE(topology.route(from, to) == route);
        }
    }
    for (const Link& link : graph.links()) {
        CHECK(graph.between(link.to, link.from).has_value());
    }
}

}  // namespace fluvial::route
