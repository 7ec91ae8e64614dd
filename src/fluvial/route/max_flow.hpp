// SPDX-License-Identifier: Apache-2.0
/// The most that can go from some nodes to others at once, whatever the routing policy: the bound
/// that plans are measured by.
#pragma once

#include <span>
#include <vector>

#include "fluvial/route/graph.hpp"

namespace fluvial::route {

struct Arc {
    Node from = 0, to = 0;
    double capacity = 0;
};

struct MaxFlow {
    double value = 0;
    std::vector<double> flow;       ///< through each arc
    std::vector<bool> source_side;  ///< by node: of a minimum cut
};

/// Several sources and sinks are joined by a logical one each, with unlimited arcs (Bui et al.
/// 2016, section 4.3). Blocking flows in graphs of shortest distances (Dinic 1970): O(V² E), and
/// O(E √E) where all capacities are 1. Whole capacities below 2⁵³ give whole, exact flows; the same
/// arcs in the same order give the same flow. Throws InvalidArgument for a capacity that is
/// negative or not finite, no source or sink, a node that is both; OutOfBounds for a node that does
/// not exist.
MaxFlow max_flow(Node nodes, std::span<const Arc> arcs, std::span<const Node> sources,
                 std::span<const Node> sinks);

/// How many ways there are from any of the sources to any of the sinks no two of which share a
/// link.
Node disjoint_ways(const Graph& graph, std::span<const Node> sources, std::span<const Node> sinks);

/// Bytes per second that the links carry from the sources to the sinks.
MaxFlow max_bandwidth(const Graph& graph, std::span<const Node> sources,
                      std::span<const Node> sinks);

}  // namespace fluvial::route
