// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/path.hpp"

#include <algorithm>
#include <limits>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::route {
namespace {

/// The nodes on the way, both ends included.
std::vector<Node> nodes_on(const Graph& graph, const Route& links) {
    std::vector<Node> nodes;
    for (const LinkId id : links) {
        if (id < 0 || static_cast<std::size_t>(id) >= graph.links().size() ||
            (!nodes.empty() && graph.link(id).from != nodes.back())) {
            throw InvalidArgument(Problem{"links do not follow each other", text("link ", id),
                                          "links that begin where the one before ends", ""});
        }
        if (nodes.empty()) {
            nodes.push_back(graph.link(id).from);
        }
        nodes.push_back(graph.link(id).to);
    }
    if (nodes.empty() || std::max(nodes.front(), nodes.back()) >= graph.hosts()) {
        throw InvalidArgument(Problem{"links do not lead from host to host",
                                      counted(links.size(), "link"), "one link or more", ""});
    }
    return nodes;
}

}  // namespace

Path path_along(const Topology& topology, std::vector<Node> stops) {
    if (stops.size() < 2) {
        throw InvalidArgument(Problem{"a path has too few stops", text(stops.size()),
                                      "the first and the last host, and proxies between", ""});
    }
    Path path{std::move(stops), {}};
    for (std::size_t i = 1; i < path.stops.size(); ++i) {
        const Route part = topology.route(path.stops[i - 1], path.stops[i]);
        path.links.insert(path.links.end(), part.begin(), part.end());
    }
    return path;
}

std::optional<Path> path_over(const Topology& topology, const Route& links) {
    const std::vector<Node> nodes = nodes_on(topology.graph(), links);
    const std::size_t unreached = std::numeric_limits<std::size_t>::max();
    // Fewest routes from the first node to each, and where the last of them begins.
    std::vector<std::size_t> routes(nodes.size(), unreached), before(nodes.size());
    routes[0] = 0;
    Route part;
    for (std::size_t end = 1; end < nodes.size(); ++end) {
        for (std::size_t begin = 0; begin < end && nodes[end] < topology.hosts(); ++begin) {
            if (routes[begin] == unreached || routes[begin] + 1 >= routes[end]) {
                continue;
            }
            part.clear();
            const auto from = links.begin() + static_cast<long>(begin);
            const auto to = links.begin() + static_cast<long>(end);
            if (topology.append_route(nodes[begin], nodes[end], part) &&
                std::equal(part.begin(), part.end(), from, to)) {
                routes[end] = routes[begin] + 1;
                before[end] = begin;
            }
        }
    }
    if (routes.back() == unreached) {
        return std::nullopt;
    }
    Path path{{nodes.back()}, links};
    for (std::size_t at = nodes.size() - 1; at != 0; at = before[at]) {
        path.stops.insert(path.stops.begin(), nodes[before[at]]);
    }
    return path;
}

}  // namespace fluvial::route
