// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/max_flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/finer_errors.hpp"

namespace fluvial::route {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// What is left of the capacities. Arc 2 i is the i-th one, arc 2 i + 1 takes its flow back.
class Residual {
  public:
    explicit Residual(std::size_t nodes) : out_(nodes), distance_(nodes), next_(nodes) {}

    void add(std::size_t from, std::size_t to, double capacity) {
        out_[from].push_back(to_.size());
        to_.push_back(to);
        left_.push_back(capacity);
        out_[to].push_back(to_.size());
        to_.push_back(from);
        left_.push_back(0);
    }

    double send_all(std::size_t source, std::size_t sink) {
        double sum = 0;
        while (measure(source, sink)) {
            std::fill(next_.begin(), next_.end(), 0);
            while (const double sent = send_along_one_way(source, sink)) {
                sum += sent;
            }
        }
        return sum;
    }
    double taken_back(std::size_t arc) const { return left_[2 * arc + 1]; }
    /// After send_all: whether anything more could reach the node.
    bool reached(std::size_t node) const { return distance_[node] >= 0; }

  private:
    /// Distances from the source through arcs with something left.
    bool measure(std::size_t source, std::size_t sink) {
        std::fill(distance_.begin(), distance_.end(), -1);
        std::vector<std::size_t> queue{source};
        distance_[source] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (const std::size_t arc : out_[queue[i]]) {
                if (left_[arc] > 0 && distance_[to_[arc]] < 0) {
                    distance_[to_[arc]] = distance_[queue[i]] + 1;
                    queue.push_back(to_[arc]);
                }
            }
        }
        return distance_[sink] >= 0;
    }

    /// Goes ever farther from the source; a node from which nothing goes on is not tried again.
    double send_along_one_way(std::size_t source, std::size_t sink) {
        way_.clear();
        std::size_t at = source;
        while (at != sink) {
            if (next_[at] < out_[at].size()) {
                const std::size_t arc = out_[at][next_[at]];
                if (left_[arc] > 0 && distance_[to_[arc]] == distance_[at] + 1) {
                    way_.push_back(arc);
                    at = to_[arc];
                } else {
                    ++next_[at];
                }
            } else if (way_.empty()) {
                return 0;
            } else {
                at = to_[way_.back() ^ 1];
                way_.pop_back();
                ++next_[at];
            }
        }
        double least = unlimited;
        for (const std::size_t arc : way_) {
            least = std::min(least, left_[arc]);
        }
        for (const std::size_t arc : way_) {
            left_[arc] -= least;
            left_[arc ^ 1] += least;
        }
        return least;
    }

    std::vector<std::vector<std::size_t>> out_;
    std::vector<std::size_t> to_, way_;
    std::vector<double> left_;
    std::vector<long> distance_;
    std::vector<std::size_t> next_;
};

void check_node(Node node, Node nodes, const char* what) {
    if (node < 0 || node >= nodes) {
        throw OutOfBounds(
            Problem{text(what, " does not exist"), text(node),
                    nodes > 0 ? text("0 to ", nodes - 1) : "none, for the graph has no nodes", ""});
    }
}

void check(Node nodes, std::span<const Arc> arcs, std::span<const Node> sources,
           std::span<const Node> sinks) {
    double sum = 0;
    for (const Arc& arc : arcs) {
        check_node(arc.from, nodes, "the node where an arc begins");
        check_node(arc.to, nodes, "the node where an arc ends");
        if (!(arc.capacity >= 0) || !std::isfinite(arc.capacity)) {
            throw InvalidArgument(Problem{"the capacity of an arc is out of range",
                                          text(arc.capacity), "finite, 0 or more", ""});
        }
        sum += arc.capacity;
    }
    if (!std::isfinite(sum)) {
        throw InvalidArgument(Problem{"the capacities of arcs have a sum that is out of range",
                                      text(sum), "one that float64 holds",
                                      "Give them in a larger unit"});
    }
    if (sources.empty() || sinks.empty()) {
        throw InvalidArgument(
            Problem{"a flow has no source or no sink",
                    text(counted(sources.size(), "source"), ", ", counted(sinks.size(), "sink")),
                    "one or more of each", ""});
    }
    for (const Node source : sources) {
        check_node(source, nodes, "a source");
        if (std::find(sinks.begin(), sinks.end(), source) != sinks.end()) {
            throw InvalidArgument(
                Problem{"a node is a source and a sink", text(source), "different nodes", ""});
        }
    }
    for (const Node sink : sinks) {
        check_node(sink, nodes, "a sink");
    }
}

template <class Capacity>
std::vector<Arc> arcs_of(const Graph& graph, Capacity capacity) {
    std::vector<Arc> arcs;
    for (const Link& link : graph.links()) {
        arcs.push_back({link.from, link.to, capacity(link)});
    }
    return arcs;
}

}  // namespace

MaxFlow max_flow(Node nodes, std::span<const Arc> arcs, std::span<const Node> sources,
                 std::span<const Node> sinks) {
    check(nodes, arcs, sources, sinks);
    const auto source = static_cast<std::size_t>(nodes), sink = source + 1;
    Residual residual(sink + 1);
    for (const Arc& arc : arcs) {
        residual.add(static_cast<std::size_t>(arc.from), static_cast<std::size_t>(arc.to),
                     arc.capacity);
    }
    for (const Node node : sources) {
        residual.add(source, static_cast<std::size_t>(node), unlimited);
    }
    for (const Node node : sinks) {
        residual.add(static_cast<std::size_t>(node), sink, unlimited);
    }
    MaxFlow found;
    found.value = residual.send_all(source, sink);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
        found.flow.push_back(residual.taken_back(i));
    }
    for (std::size_t node = 0; node < source; ++node) {
        found.source_side.push_back(residual.reached(node));
    }
    return found;
}

Node disjoint_ways(const Graph& graph, std::span<const Node> sources, std::span<const Node> sinks) {
    const std::vector<Arc> arcs = arcs_of(graph, [](const Link&) { return 1.0; });
    return static_cast<Node>(max_flow(graph.nodes(), arcs, sources, sinks).value);
}

MaxFlow max_bandwidth(const Graph& graph, std::span<const Node> sources,
                      std::span<const Node> sinks) {
    const std::vector<Arc> arcs = arcs_of(graph, [](const Link& link) { return link.bandwidth; });
    return max_flow(graph.nodes(), arcs, sources, sinks);
}

}  // namespace fluvial::route
