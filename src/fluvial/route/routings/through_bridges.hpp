// SPDX-License-Identifier: Apache-2.0
/// I/O hosts beside the hosts that compute: each is linked to one of them alone, its bridge (Blue
/// Gene/Q; Bui et al. 2016, section 3).
#pragma once

#include <vector>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

/// `computing` hosts, and behind them one I/O host for each `hosts_per_io` of them in the order of
/// their numbers; the first of these is its bridge.
struct Bridges {
    Node computing = 0, hosts_per_io = 1;

    Node io_hosts() const { return (computing + hosts_per_io - 1) / hosts_per_io; }
    /// The host that a message for `host` leaves the other network at: the host itself, or the
    /// bridge of an I/O host.
    Node bridge_of(Node host) const {
        return host < computing ? host : (host - computing) * hosts_per_io;
    }
    /// Those between bridges and I/O hosts, both ways.
    std::vector<Link> links(double bandwidth, double latency) const;
};

/// The routes of `between_bridges`, and the links from and to I/O hosts at their ends. `graph` has
/// both kinds of links.
RoutingPtr through_bridges(RoutingPtr between_bridges, const Bridges& bridges, Graph graph);

}  // namespace fluvial::route
