// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/routings/through_bridges.hpp"

#include <utility>

namespace fluvial::route {

std::vector<Link> Bridges::links(double bandwidth, double latency) const {
    std::vector<Link> out;
    for (Node io = computing; io < computing + io_hosts(); ++io) {
        out.push_back({bridge_of(io), io, bandwidth, latency});
        out.push_back({io, bridge_of(io), bandwidth, latency});
    }
    return out;
}

namespace {

class ThroughBridges final : public Routing {
  public:
    ThroughBridges(RoutingPtr inner, const Bridges& bridges, Graph graph)
        : inner_(std::move(inner)), bridges_(bridges), graph_(std::move(graph)) {}
    std::string describe() const override { return inner_->describe(); }

    bool append(Node from, Node to, Route& route) const override {
        const Node first = bridges_.bridge_of(from), last = bridges_.bridge_of(to);
        if (first != from) {
            route.push_back(*graph_.between(from, first));
        }
        if (first != last && !inner_->append(first, last, route)) {
            return false;
        }
        if (last != to) {
            route.push_back(*graph_.between(last, to));
        }
        return true;
    }

  private:
    RoutingPtr inner_;
    Bridges bridges_;
    Graph graph_;
};

}  // namespace

RoutingPtr through_bridges(RoutingPtr between_bridges, const Bridges& bridges, Graph graph) {
    return std::make_shared<ThroughBridges>(std::move(between_bridges), bridges, std::move(graph));
}

}  // namespace fluvial::route
