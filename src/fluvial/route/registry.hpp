// SPDX-License-Identifier: Apache-2.0
/// Topologies by name. One line in registry.cpp adds one.
#pragma once

#include <string_view>
#include <vector>

#include "fluvial/route/topology.hpp"
#include "fluvial/route/topology_text.hpp"

namespace fluvial::route {

/// What a kind of topology tells the registry about itself.
struct Registration {
    std::string_view name;
    std::string_view summary;  ///< one line
    TopologyPtr (*make)(TopologyText&);
    std::vector<std::string_view> examples;  ///< texts that the conformance test uses
};

const std::vector<Registration>& registrations();

/// "bgq:4x4x4x4x2", "torus:8x8x8,bandwidth=1.2e10", "dragonfly:9x4x2": a kind, a shape, and options
/// by name. Throws UnknownName for a kind or an option that does not exist (listing what does),
/// InvalidArgument for a wrong one. For files see description.hpp.
TopologyPtr make_topology(std::string_view text);

}  // namespace fluvial::route
