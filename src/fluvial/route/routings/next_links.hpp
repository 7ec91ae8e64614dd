// SPDX-License-Identifier: Apache-2.0
/// Policies under which the next link depends on where a message is and where it goes, and not on
/// where it came from: shortest paths, up and down a tree, a table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

/// The fewest links; among equals the link at position (destination mod their number), so that
/// destinations are spread over equal ways and each keeps its own. Cost: one search over the graph
/// at the first route to a destination, 4 bytes a node kept for each.
RoutingPtr shortest_paths(const Graph& graph);

/// Up links first and then down links, the fewest of them; equals as above. `level` of each node:
/// links go up where it grows. Hosts of level 0 forward nothing.
RoutingPtr up_down(const Graph& graph, std::vector<int> level);

/// Routes by the pair of hosts, each the nodes on its way, both ends included; pairs that are not
/// listed take the shortest path. Throws InvalidArgument for a route between nodes that are not
/// linked, of fewer than two nodes, with an end that is no host, from a host to itself, or that
/// passes a link twice, and for a pair that comes twice. It calls nodes by their `names` where
/// there are any.
RoutingPtr by_table(const Graph& graph, const std::vector<std::vector<Node>>& routes,
                    const std::vector<std::string>& names = {});

/// Levels for up_down, where all hosts are as deep: how many links the nearest host is away.
std::vector<int> levels_of(const Graph& graph);

}  // namespace fluvial::route
