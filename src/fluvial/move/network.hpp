// SPDX-License-Identifier: Apache-2.0
/// Where on this host others may connect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

/// 0: any that is free.
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;
};

/// The range of "40000-40100" or "40000"; empty: any port. Throws InvalidArgument.
PortRange ports_of(const std::string& text);

/// What to listen on, and under which addresses others find it.
struct Interfaces {
    std::vector<std::string> listen_on;
    std::vector<std::string> reachable_at;
};

/// Chooses among the interfaces that are up. "auto": every one, loopback only where nothing else
/// is; "off": none; an interface's name ("eth0"), an address of this host, or a network
/// ("10.77.0.0/16"): the interfaces that fit, several separated by commas. Throws InvalidArgument,
/// which lists the interfaces, when none fits.
Interfaces interfaces_of(const std::string& network);

/// `endpoints`, those in a network of this host's first.
std::vector<Endpoint> nearest_first(std::vector<Endpoint> endpoints);

}  // namespace fluvial::move
