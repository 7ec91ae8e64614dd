// SPDX-License-Identifier: Apache-2.0
/// A network and the way that it takes from one host to another: a graph with a routing policy.
/// Everything here is local, and the same on all ranks that are given the same topology.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/route/graph.hpp"

namespace fluvial::route {

/// Which links a message takes that is sent from one host to another. Immutable, shareable between
/// threads.
class Routing {
  public:
    virtual ~Routing() = default;
    /// "dimension-ordered", "shortest", "up-down", "table".
    virtual std::string describe() const = 0;
    /// The same wherever the same graph is routed alike, if describe() is. A policy with routes of
    /// its own has another number for others.
    virtual std::uint64_t fingerprint() const { return 0; }
    /// Appends the links from a host to another one. False where there is no way; then what was
    /// appended means nothing.
    virtual bool append(Node from, Node to, Route& route) const = 0;
};

using RoutingPtr = std::shared_ptr<const Routing>;

/// Immutable, shareable between threads.
class Topology {
  public:
    /// `names` of all nodes, or none, and then they are called by their numbers. `host_of_rank`:
    /// where each rank of the job runs; empty for one rank a host, in their order. Throws
    /// InvalidArgument for other numbers of names, OutOfBounds for ranks on no host.
    Topology(std::string description, Graph graph, RoutingPtr routing,
             std::vector<std::string> names = {}, std::vector<Node> host_of_rank = {});

    /// The text that makes it again, or the name of its file.
    const std::string& describe() const { return description_; }
    /// Of the graph, the names of its nodes and the routing: equal for equal networks, different
    /// for others but once in 2^64. Where ranks run is no part of it.
    std::uint64_t fingerprint() const { return fingerprint_; }
    const Graph& graph() const { return graph_; }
    const Routing& routing() const { return *routing_; }
    Node hosts() const { return graph_.hosts(); }
    std::string name_of(Node node) const;
    /// Throws UnknownName where no host has this name, in upper or lower case; its number is a name
    /// of each host.
    Node host_named(std::string_view name) const;
    const std::vector<Node>& host_of_rank() const { return host_of_rank_; }
    /// Its hosts have names, and not only numbers.
    bool named() const { return !names_.empty(); }
    /// The host has this name, in upper or lower case. Where one of the two has no domain, that of
    /// the other is left out: "n1" is "N1.cluster".
    bool is_called(Node host, std::string_view name) const;
    /// The same network, where each rank runs on the host that is called so. Throws InvalidArgument
    /// unless hosts have names, UnknownName where none has this one.
    std::shared_ptr<const Topology> placed(std::span<const std::string> host_of_each_rank) const;

    /// The links that a message takes; none from a host to itself. Throws OutOfBounds where one is
    /// not a host, InvalidArgument where the network has no way.
    Route route(Node from, Node to) const;
    /// The same for callers that know their hosts: appends, and returns false where there is no
    /// way.
    bool append_route(Node from, Node to, Route& route) const {
        return from == to || routing_->append(from, to, route);
    }
    /// Whether data can be sent on by way of a host: one that is linked to a single other host,
    /// such as an I/O host, is on the way to nothing.
    bool passes_on(Node host) const;
    /// Throws OutOfBounds unless `node` is a host; `what` names it in the message.
    void check_host(Node node, const std::string& what) const;

  private:
    std::string description_;
    Graph graph_;
    RoutingPtr routing_;
    std::vector<std::string> names_;
    std::vector<Node> host_of_rank_;
    std::uint64_t fingerprint_;
};

using TopologyPtr = std::shared_ptr<const Topology>;

}  // namespace fluvial::route
