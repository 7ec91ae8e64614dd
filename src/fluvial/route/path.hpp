// SPDX-License-Identifier: Apache-2.0
/// One way of data through the network: a chain of whole routes. A host that data is sent to, and
/// that sends it on, is a proxy; between two of them the network goes its own way, so hops that its
/// routing policy takes anyway need none (Bui et al. 2016, sections 4.2 and 4.4).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fluvial/route/topology.hpp"

namespace fluvial::route {

struct Path {
    std::vector<Node> stops;  ///< the first host, the proxies, the last host
    Route links;
    double share = 1;  ///< of the flow's bytes, 0 to 1

    std::size_t proxies() const { return stops.size() - 2; }

    friend bool operator==(const Path&, const Path&) = default;
};

/// The path that stops at these hosts. Throws OutOfBounds, InvalidArgument as Topology::route, and
/// InvalidArgument for fewer than two stops.
Path path_along(const Topology& topology, std::vector<Node> stops);

/// The path with the fewest proxies whose links are these; none where routes do not add up to them,
/// because a link leaves a switch where no route does. At a cost of h² routes for h links. Throws
/// InvalidArgument where links do not follow each other from host to host.
std::optional<Path> path_over(const Topology& topology, const Route& links);

}  // namespace fluvial::route
