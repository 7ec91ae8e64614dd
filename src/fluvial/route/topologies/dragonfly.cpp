// SPDX-License-Identifier: Apache-2.0
/// dragonfly: groups of routers that are all linked to each other, with links between all groups
/// (Kim et al., "Technology-driven, highly-scalable dragonfly topology", 2008). "dragonfly:9x4x2":
/// 9 groups, 4 routers a group, 2 hosts a router. Routing is minimal and static: to the router with
/// the link to the other group, along it, and to the router of the host.
#include "fluvial/base/error.hpp"
#include "fluvial/route/registry.hpp"

namespace fluvial::route {
namespace {

struct Shape {
    Node groups, routers, hosts;

    Node hosts_in_all() const { return groups * routers * hosts; }
    /// Links to other groups that a router has.
    Node global_links() const { return (groups - 1 + routers - 1) / routers; }
    /// The router of `group` that has the link to another group.
    Node router_towards(Node group, Node other) const {
        return (other - group - 1 + groups) % groups / global_links();
    }
    Node router(Node group, Node number) const { return hosts_in_all() + group * routers + number; }
};

class MinimalRouting final : public Routing {
  public:
    MinimalRouting(const Shape& shape, Graph graph) : shape_(shape), graph_(std::move(graph)) {}
    std::string describe() const override { return "minimal"; }

    bool append(Node from, Node to, Route& route) const override {
        const Node hosts_of_group = shape_.routers * shape_.hosts;
        const Node group = from / hosts_of_group, other = to / hosts_of_group;
        Node at = from;
        const auto go = [&](Node next) {
            if (at != next) {
                route.push_back(*graph_.between(at, next));
                at = next;
            }
        };
        go(shape_.hosts_in_all() + from / shape_.hosts);
        if (group != other) {
            go(shape_.router(group, shape_.router_towards(group, other)));
            go(shape_.router(other, shape_.router_towards(other, group)));
        }
        go(shape_.hosts_in_all() + to / shape_.hosts);
        go(to);
        return true;
    }

  private:
    Shape shape_;
    Graph graph_;
};

TopologyPtr make_dragonfly(TopologyText& words) {
    words.require_ndim(3, 3, "three numbers: groups, routers of a group, hosts of a router");
    const double bandwidth = words.bandwidth(12.5e9);
    const double between_groups = words.bandwidth("global-bandwidth", bandwidth);
    const double latency = words.latency(100e-9);
    std::string description = words.done();
    const Shape shape{words.shape()[0], words.shape()[1], words.shape()[2]};
    const double nodes = 1.0 * shape.groups * shape.routers * (shape.hosts + 1.0);
    const double cables = 1.0 * shape.groups * shape.routers * (shape.routers + shape.groups);
    if (nodes > Graph::nodes_max || cables > 1e8) {
        throw InvalidArgument(Problem{"a dragonfly has too many nodes or links", description,
                                      text("at most ", Graph::nodes_max, " nodes"), ""});
    }
    std::vector<Link> links;
    for (Node host = 0; host < shape.hosts_in_all(); ++host) {
        const Node router = shape.hosts_in_all() + host / shape.hosts;
        links.push_back({host, router, bandwidth, latency});
        links.push_back({router, host, bandwidth, latency});
    }
    for (Node group = 0; group < shape.groups; ++group) {
        for (Node a = 0; a < shape.routers; ++a) {
            for (Node b = 0; b < shape.routers; ++b) {
                if (a != b) {
                    links.push_back(
                        {shape.router(group, a), shape.router(group, b), bandwidth, latency});
                }
            }
        }
        for (Node other = 0; other < shape.groups; ++other) {
            if (other != group) {
                links.push_back({shape.router(group, shape.router_towards(group, other)),
                                 shape.router(other, shape.router_towards(other, group)),
                                 between_groups, latency});
            }
        }
    }
    Graph graph(shape.hosts_in_all(), shape.groups * shape.routers, std::move(links));
    auto routing = std::make_shared<MinimalRouting>(shape, graph);
    return std::make_shared<Topology>(std::move(description), std::move(graph), routing);
}

}  // namespace

Registration register_dragonfly() {
    return {"dragonfly",
            "groups of routers, all linked to all: dragonfly:9x4x2",
            make_dragonfly,
            {"dragonfly:9x4x2", "dragonfly:3x2x2,global-bandwidth=5e9", "dragonfly:1x4x1",
             "dragonfly:5x1x2"}};
}

}  // namespace fluvial::route
