// SPDX-License-Identifier: Apache-2.0
/// Grids, with or without links around, and the policy that goes along one dimension after another.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

/// Hosts in a grid; the last dimension varies fastest, as in C arrays. Around means that the ends
/// of a dimension are linked (a torus). A dimension of two hosts has one cable, around or not.
class Grid {
  public:
    /// Throws InvalidArgument for more hosts than Graph::nodes_max.
    Grid(std::vector<Node> shape, bool around, double bandwidth, double latency);

    std::span<const Node> shape() const { return shape_; }
    bool around() const { return around_; }
    Node hosts() const { return hosts_; }
    std::vector<Link> links() const { return links_; }
    /// Hosts between neighbours of a dimension, counted in their numbers.
    std::span<const Node> strides() const { return strides_; }
    /// The link that leaves a host along a dimension, up or down; −1 at an edge.
    LinkId link(Node host, std::size_t dim, bool up) const {
        return link_of_[(static_cast<std::size_t>(host) * shape_.size() + dim) * 2 + (up ? 1 : 0)];
    }

  private:
    std::vector<Node> shape_, strides_;
    bool around_;
    Node hosts_ = 1;
    std::vector<Link> links_;
    std::vector<LinkId> link_of_;
};

/// In which order a message goes along the dimensions.
enum class DimensionOrder {
    FirstToLast,
    /// Longest first; among equals the first (zone 2 of Blue Gene/Q).
    LongestFirst,
    /// Longest first; among equals the last (zone 3).
    LongestFirstLastOfEquals,
    /// Longest first; among equals any, which is drawn for each pair of hosts (zone 0).
    LongestFirstAnyOfEquals,
    /// Any, drawn for each pair of hosts (zone 1).
    Any,
};

/// Each dimension the shorter way around; where both are as long, up. What a network draws anew
/// for each message is drawn once for each pair here, by a hash: plans are the same everywhere, and
/// real routes may differ from them. Bui et al. 2016, section 3.
RoutingPtr dimension_ordered(std::shared_ptr<const Grid> grid, DimensionOrder order);

}  // namespace fluvial::route
