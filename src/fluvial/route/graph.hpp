// SPDX-License-Identifier: Apache-2.0
/// A network as a directed graph: hosts and switches are its nodes, links its edges. A cable that
/// carries data both ways is two links (Bui et al. 2016, section 4.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fluvial::route {

/// Hosts are 0 … hosts − 1, switches the numbers behind them.
using Node = std::int32_t;
/// Position in Graph::links().
using LinkId = std::int32_t;

struct Link {
    Node from = 0, to = 0;
    double bandwidth = 0;  ///< bytes per second
    double latency = 0;    ///< seconds

    friend bool operator==(const Link&, const Link&) = default;
};
static_assert(sizeof(Link) == 2 * sizeof(Node) + 2 * sizeof(double), "its bytes are compared");

/// Links one after the other: each begins where the one before it ends.
using Route = std::vector<LinkId>;

/// Immutable.
class Graph {
  public:
    static constexpr Node nodes_max = 1 << 20;
    static constexpr double bandwidth_max = 1e18;  ///< bytes per second
    static constexpr double latency_max = 1e6;     ///< seconds
    static constexpr const char* bandwidths = "bytes per second, more than 0, up to 1e18";
    static constexpr const char* latencies = "seconds, 0 to 1e6";

    /// Throws OutOfBounds for links of nodes that do not exist, InvalidArgument for no host, more
    /// nodes than nodes_max, a link from a node to itself, a bandwidth that is not positive or
    /// above bandwidth_max, a latency that is negative or above latency_max.
    Graph(Node hosts, Node switches, std::vector<Link> links);

    Node hosts() const { return hosts_; }
    Node nodes() const { return nodes_; }
    const std::vector<Link>& links() const { return links_; }
    const Link& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }
    /// The links that leave a node, and those that arrive at it, in the order of their numbers.
    std::span<const LinkId> out(Node node) const { return part(out_, out_begin_, node); }
    std::span<const LinkId> in(Node node) const { return part(in_, in_begin_, node); }
    /// The first link from one node to another; none where they are not neighbours.
    std::optional<LinkId> between(Node from, Node to) const;
    /// Seconds that the latencies of a route add up to.
    double latency(std::span<const LinkId> route) const;
    /// The least bandwidth of a route, in bytes per second; infinite for an empty one.
    double bandwidth(std::span<const LinkId> route) const;

  private:
    static std::span<const LinkId> part(const std::vector<LinkId>& links,
                                        const std::vector<std::size_t>& begin, Node node) {
        const auto at = static_cast<std::size_t>(node);
        return {links.data() + begin[at], begin[at + 1] - begin[at]};
    }

    Node hosts_, nodes_;
    std::vector<Link> links_;
    std::vector<LinkId> out_, in_;
    std::vector<std::size_t> out_begin_, in_begin_;  ///< by node; one more than there are nodes
};

}  // namespace fluvial::route
