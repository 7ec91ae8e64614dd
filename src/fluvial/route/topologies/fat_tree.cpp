// SPDX-License-Identifier: Apache-2.0
/// fattree: an extended generalised fat tree (Öhring et al., "On generalized fat trees", 1995).
/// "fattree:4x8,up=1x2": 4 hosts under a switch of the first level, 8 such switches under one of
/// the second; a host has 1 switch above it, a switch of the first level 2.
#include <algorithm>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/route/registry.hpp"
#include "fluvial/route/routings/next_links.hpp"

namespace fluvial::route {
namespace {

constexpr std::size_t levels_max = 8;

/// How many nodes each level has, and how nodes of neighbouring levels are linked.
struct Tree {
    std::vector<Node> down, up;  ///< children and parents of a node, by level

    /// Nodes that look alike from below: the product of `up` below a level.
    std::int64_t copies(std::size_t level) const { return product(up, 0, level); }
    std::int64_t nodes(std::size_t level) const {
        return product(down, level, down.size()) * copies(level);
    }

    static std::int64_t product(const std::vector<Node>& of, std::size_t begin, std::size_t end) {
        std::int64_t result = 1;
        for (std::size_t i = begin; i < end; ++i) {
            result = std::min<std::int64_t>(result * of[i], std::int64_t{Graph::nodes_max} + 1);
        }
        return result;
    }
};

/// A node of a level is (subtree, copy): its number is subtree · copies + copy. Its parents are in
/// the subtree that encloses it, at the copies copy + k · copies, for k below `up`.
std::vector<Link> links_of(const Tree& tree, double bandwidth, double latency) {
    std::vector<Link> links;
    std::int64_t first = 0;
    for (std::size_t level = 0; level < tree.down.size(); ++level) {
        const std::int64_t copies = tree.copies(level), above = first + tree.nodes(level);
        for (std::int64_t node = 0; node < tree.nodes(level); ++node) {
            const std::int64_t subtree = node / copies / tree.down[level], copy = node % copies;
            for (std::int64_t k = 0; k < tree.up[level]; ++k) {
                const std::int64_t parent = subtree * copies * tree.up[level] + copy + k * copies;
                const Node low = static_cast<Node>(first + node);
                const Node high = static_cast<Node>(above + parent);
                links.push_back({low, high, bandwidth, latency});
                links.push_back({high, low, bandwidth, latency});
            }
        }
        first = above;
    }
    return links;
}

TopologyPtr make_fat_tree(TopologyText& words) {
    words.require_ndim(1, levels_max, text("1 to ", levels_max, " numbers of children"));
    Tree tree{words.shape(), words.numbers("up")};
    const double bandwidth = words.bandwidth(12.5e9), latency = words.latency(100e-9);
    std::string description = words.done();
    if (tree.up.empty()) {
        tree.up.assign(tree.down.size(), 1);
    }
    if (tree.up.size() != tree.down.size()) {
        throw InvalidArgument(Problem{"option 'up' of a fat tree has another number of levels",
                                      text_of(tree.up), counted(tree.down.size(), "number"), ""});
    }
    std::vector<int> level;
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i <= tree.down.size(); ++i) {
        nodes += tree.nodes(i);
        if (nodes > Graph::nodes_max) {
            throw InvalidArgument(Problem{"a fat tree has too many nodes", description,
                                          text("at most ", Graph::nodes_max), ""});
        }
        level.resize(static_cast<std::size_t>(nodes), static_cast<int>(i));
    }
    const Node hosts = static_cast<Node>(tree.nodes(0));
    Graph graph(hosts, static_cast<Node>(nodes) - hosts, links_of(tree, bandwidth, latency));
    const RoutingPtr routing = up_down(graph, std::move(level));
    return std::make_shared<Topology>(std::move(description), std::move(graph), routing);
}

}  // namespace

Registration register_fat_tree() {
    return {"fattree",
            "hosts under levels of switches: fattree:4x8,up=1x2",
            make_fat_tree,
            {"fattree:4", "fattree:4x4,up=1x2", "fattree:2x2x3,up=1x2x2",
             "fattree:3x3,up=2x2,latency=0"}};
}

}  // namespace fluvial::route
