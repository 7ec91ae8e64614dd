// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/routings/next_links.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/hash.hpp"

namespace fluvial::route {
namespace {

constexpr int far = std::numeric_limits<int>::max();

/// Distances to one destination against the direction of links, through links that `usable` admits.
template <class Usable>
std::vector<int> distances_to(const Graph& graph, Node destination, Usable usable) {
    std::vector<int> distance(static_cast<std::size_t>(graph.nodes()), far);
    std::vector<Node> queue{destination};
    distance[static_cast<std::size_t>(destination)] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const Node at = queue[i];
        for (const LinkId id : graph.in(at)) {
            const Link& link = graph.link(id);
            int& there = distance[static_cast<std::size_t>(link.from)];
            if (there == far && usable(link)) {
                there = distance[static_cast<std::size_t>(at)] + 1;
                queue.push_back(link.from);
            }
        }
    }
    return distance;
}

/// The link, among those that leave a node and that `wanted` admits, which this destination uses.
template <class Wanted>
LinkId pick(const Graph& graph, Node at, Node destination, Wanted wanted) {
    const auto out = graph.out(at);
    const auto count = std::count_if(out.begin(), out.end(), wanted);
    if (count == 0) {
        return -1;
    }
    auto chosen = destination % count;
    for (const LinkId id : out) {
        if (wanted(id) && chosen-- == 0) {
            return id;
        }
    }
    return -1;
}

/// A copy of the graph, and of each destination the next link of all nodes, made when first asked
/// for.
class NextLinks : public Routing {
  public:
    explicit NextLinks(const Graph& graph)
        : graph_(graph),
          made_(std::make_unique<std::once_flag[]>(static_cast<std::size_t>(graph.hosts()))),
          next_(static_cast<std::size_t>(graph.hosts())) {}

    bool append(Node from, Node to, Route& route) const override {
        const auto destination = static_cast<std::size_t>(to);
        std::call_once(made_[destination], [&] { next_[destination] = search(to); });
        while (from != to) {
            const LinkId id = next_[destination][static_cast<std::size_t>(from)];
            if (id < 0) {
                return false;
            }
            route.push_back(id);
            from = graph_.link(id).to;
        }
        return true;
    }

  protected:
    const Graph& graph() const { return graph_; }

  private:
    /// By node; −1 where there is no way.
    virtual std::vector<LinkId> search(Node destination) const = 0;

    Graph graph_;
    std::unique_ptr<std::once_flag[]> made_;
    mutable std::vector<std::vector<LinkId>> next_;
};

/// Other hosts than the two ends do not forward what the network carries by itself, unless hosts
/// are linked to each other directly, without switches.
class ShortestPaths final : public NextLinks {
  public:
    explicit ShortestPaths(const Graph& graph)
        : NextLinks(graph), hosts_forward_(graph.hosts() == graph.nodes()) {}
    std::string describe() const override { return "shortest"; }

  private:
    std::vector<LinkId> search(Node destination) const override {
        const auto usable = [&](const Link& link) {
            return hosts_forward_ || link.to == destination || link.to >= graph().hosts();
        };
        const std::vector<int> distance = distances_to(graph(), destination, usable);
        std::vector<LinkId> next(distance.size(), -1);
        for (Node node = 0; node < graph().nodes(); ++node) {
            const int here = distance[static_cast<std::size_t>(node)];
            if (here != far && here > 0) {
                next[static_cast<std::size_t>(node)] =
                    pick(graph(), node, destination, [&](LinkId id) {
                        const Link& link = graph().link(id);
                        const int there = distance[static_cast<std::size_t>(link.to)];
                        return usable(link) && there != far && there + 1 == here;
                    });
            }
        }
        return next;
    }

    bool hosts_forward_;
};

class UpDown final : public NextLinks {
  public:
    UpDown(const Graph& graph, std::vector<int> level)
        : NextLinks(graph), level_(std::move(level)) {
        for (Node node = 0; node < graph.nodes(); ++node) {
            upwards_.push_back(node);
        }
        std::stable_sort(upwards_.begin(), upwards_.end(),
                         [&](Node a, Node b) { return level_of(a) < level_of(b); });
    }
    std::string describe() const override { return "up-down"; }

  private:
    int level_of(Node node) const { return level_[static_cast<std::size_t>(node)]; }
    bool goes_up(const Link& link) const { return level_of(link.to) > level_of(link.from); }
    bool goes_down(const Link& link) const { return level_of(link.to) < level_of(link.from); }

    std::vector<LinkId> search(Node destination) const override {
        const auto down = [&](const Link& link) { return goes_down(link); };
        const std::vector<int> below = distances_to(graph(), destination, down);
        // From the top downwards, so that what is above a node is known before it.
        std::vector<int> distance = below;
        std::vector<LinkId> next(distance.size(), -1);
        for (auto it = upwards_.rbegin(); it != upwards_.rend(); ++it) {
            if (*it == destination) {
                continue;
            }
            int& here = distance[static_cast<std::size_t>(*it)];
            const bool turned = here != far;
            const auto admits = [&](LinkId id) {
                const Link& link = graph().link(id);
                return turned ? goes_down(link) : goes_up(link);
            };
            const auto beyond = [&](LinkId id) {
                const auto to = static_cast<std::size_t>(graph().link(id).to);
                return turned ? below[to] : distance[to];
            };
            int least = far;
            for (const LinkId id : graph().out(*it)) {
                least = admits(id) ? std::min(least, beyond(id)) : least;
            }
            if (least != far) {
                here = least + 1;
                next[static_cast<std::size_t>(*it)] =
                    pick(graph(), *it, destination,
                         [&](LinkId id) { return admits(id) && beyond(id) == least; });
            }
        }
        return next;
    }

    std::vector<int> level_;
    std::vector<Node> upwards_;
};

class ByTable final : public Routing {
  public:
    ByTable(const Graph& graph, const std::vector<std::vector<Node>>& routes,
            const std::vector<std::string>& names)
        : others_(shortest_paths(graph)) {
        for (const std::vector<Node>& nodes : routes) {
            const Route route = route_of(graph, nodes, names);
            if (!routes_.emplace(std::pair{nodes.front(), nodes.back()}, route).second) {
                throw InvalidArgument(Problem{"a pair of hosts has two routes in the table",
                                              hop(nodes.front(), nodes.back(), names), "one",
                                              "Remove the other"});
            }
        }
    }
    std::string describe() const override { return "table"; }
    std::uint64_t fingerprint() const override {
        Route all;  // which say themselves where they begin and end
        for (const auto& [ends, route] : routes_) {
            all.insert(all.end(), route.begin(), route.end());
            all.push_back(-1);
        }
        return hash_of(std::as_bytes(std::span(all)));
    }
    bool append(Node from, Node to, Route& route) const override {
        const auto found = routes_.find({from, to});
        if (found == routes_.end()) {
            return others_->append(from, to, route);
        }
        route.insert(route.end(), found->second.begin(), found->second.end());
        return true;
    }

  private:
    static std::string called(Node node, const std::vector<std::string>& names) {
        return names.empty() ? text("node ", node)
                             : text("'", shortened(names[static_cast<std::size_t>(node)]), "'");
    }
    static std::string hop(Node from, Node to, const std::vector<std::string>& names) {
        return called(from, names) + " to " + called(to, names);
    }
    static Route route_of(const Graph& graph, const std::vector<Node>& nodes,
                          const std::vector<std::string>& names) {
        if (nodes.size() < 2) {
            throw InvalidArgument(Problem{"a route of the table is too short",
                                          counted(nodes.size(), "node"), "two or more", ""});
        }
        if (std::max(nodes.front(), nodes.back()) >= graph.hosts()) {
            throw InvalidArgument(Problem{"a route of the table ends at a switch",
                                          called(std::max(nodes.front(), nodes.back()), names),
                                          "routes from host to host", ""});
        }
        if (nodes.front() == nodes.back()) {
            throw InvalidArgument(Problem{"a route of the table ends where it begins",
                                          called(nodes.front(), names),
                                          "routes from one host to another", "Remove it"});
        }
        Route route;
        for (std::size_t i = 1; i < nodes.size(); ++i) {
            const auto link = graph.between(nodes[i - 1], nodes[i]);
            if (!link) {
                throw InvalidArgument(Problem{"a route of the table has a hop without a link",
                                              hop(nodes[i - 1], nodes[i], names), "neighbours",
                                              "Add the link, or correct the route"});
            }
            if (std::find(route.begin(), route.end(), *link) != route.end()) {
                throw InvalidArgument(Problem{"a route of the table passes a link twice",
                                              hop(nodes[i - 1], nodes[i], names), "each link once",
                                              "Correct the route"});
            }
            route.push_back(*link);
        }
        return route;
    }

    RoutingPtr others_;
    std::map<std::pair<Node, Node>, Route> routes_;
};

}  // namespace

RoutingPtr shortest_paths(const Graph& graph) {
    return std::make_shared<ShortestPaths>(graph);
}

RoutingPtr up_down(const Graph& graph, std::vector<int> level) {
    return std::make_shared<UpDown>(graph, std::move(level));
}

RoutingPtr by_table(const Graph& graph, const std::vector<std::vector<Node>>& routes,
                    const std::vector<std::string>& names) {
    return std::make_shared<ByTable>(graph, routes, names);
}

std::vector<int> levels_of(const Graph& graph) {
    std::vector<int> level(static_cast<std::size_t>(graph.nodes()), -1);
    std::vector<Node> queue;
    for (Node host = 0; host < graph.hosts(); ++host) {
        level[static_cast<std::size_t>(host)] = 0;
        queue.push_back(host);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const LinkId id : graph.out(queue[i])) {
            int& there = level[static_cast<std::size_t>(graph.link(id).to)];
            if (there < 0) {
                there = level[static_cast<std::size_t>(queue[i])] + 1;
                queue.push_back(graph.link(id).to);
            }
        }
    }
    return level;
}

}  // namespace fluvial::route
