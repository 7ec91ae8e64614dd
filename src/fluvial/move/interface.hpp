// SPDX-License-Identifier: Apache-2.0
/// The network interfaces of this host.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fluvial::move {

/// The bytes of an address, the first first.
using Octets = std::vector<unsigned char>;
/// None for what is no address.
std::optional<Octets> octets_of(const std::string& address);
/// The first bits are the same, of addresses of one kind.
bool same_network(const Octets& a, const Octets& b, int prefix_bits);

/// Of the interface that each host has for itself: 127.0.0.0/8 and ::1.
bool is_loopback(const std::string& address);

/// An address of an interface; an interface may have several.
struct Interface {
    std::string name;
    std::string address;
    Octets octets;
    int prefix_bits = 0;
    bool loopback = false;
    bool inner = false;  ///< leads to no cable of its own: loopback, a bridge, a tunnel
};

/// Those that are up, without addresses that are of one link only. Throws SystemError.
std::vector<Interface> interfaces();
/// `wanted` is the interface's name, its address or a network ("10.77.0.0/16") that has this; with
/// spaces around it where it stands in a list ("eth0, ib0").
bool fits(const Interface& interface, const std::string& wanted);
/// Throws InvalidArgument, which lists the interfaces; `others` is what else the option may be.
[[noreturn]] void throw_none_fits(const std::string& option, const std::string& wanted,
                                  const std::string& others, const std::vector<Interface>& all);
/// The name of the interface that has that address of this host; the address where there is none,
/// or where the interfaces cannot be listed.
std::string interface_of(const std::string& address);

}  // namespace fluvial::move
