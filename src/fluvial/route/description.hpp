// SPDX-License-Identifier: Apache-2.0
/// Topologies that are written down node by node: hosts, switches and links by name, from
/// JSON or from Slurm's topology.conf. The texts are given; nothing here opens a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

/// What holds for a link for which a file says nothing: 100 Gbit/s, 1 µs.
struct LinkDefaults {
    double bandwidth = 12.5e9;  ///< bytes per second
    double latency = 1e-6;      ///< seconds
};

struct NamedLink {
    std::string from, to;
    double bandwidth = 0, latency = 0;
    bool both = true;  ///< and the same in the other direction
};

struct GraphDescription {
    std::vector<std::string> hosts, switches;
    std::vector<NamedLink> links;
    std::vector<std::string> host_of_rank;         ///< empty: one rank a host, in their order
    std::string routing = "shortest";              ///< or "up-down", "table"
    std::vector<std::vector<std::string>> routes;  ///< of a table: names of the nodes on the way
};

/// `name` is what messages call it, such as that of its file. Throws UnknownName for nodes that are
/// not listed, InvalidArgument for names that come twice and an unknown routing.
TopologyPtr make_topology(const GraphDescription& description, std::string name);

/// `{"hosts": ["a", "b"], "switches": ["s"], "links": [{"from": "a", "to": "s", "bandwidth":
/// 1.25e10, "latency": 1e-6, "both": true}, …], "ranks": ["a", "a", "b"], "routing": "shortest",
/// "routes": [["a", "s", "b"], …]}`. All but hosts and links may be missing. Bytes per second and
/// seconds. Throws InvalidArgument, which names the line.
GraphDescription description_from_json(std::string_view text, const LinkDefaults& defaults = {});

/// `SwitchName=s0 Nodes=node[01-16,20]`, `SwitchName=top Switches=s[0-3]` (topology/tree, Slurm's
/// manual page topology.conf(5)). Comments and LinkSpeed are passed over, and a backslash at the
/// end of a line continues it in the next, as Slurm does. Throws InvalidArgument, which names the
/// line.
GraphDescription description_from_slurm(std::string_view text, const LinkDefaults& defaults = {});

/// "node[01-03,7],login" as names, in order. Throws InvalidArgument for other brackets, descending
/// ranges and more than Graph::nodes_max names.
std::vector<std::string> names_in(std::string_view host_list);

}  // namespace fluvial::route
