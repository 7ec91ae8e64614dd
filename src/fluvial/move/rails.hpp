// SPDX-License-Identifier: Apache-2.0
/// By which interfaces of this host another host is reached. Several networks that join two hosts,
/// each with an interface of its own on either, are rails: data goes over all of them at a time
/// (striped_read.hpp).
#pragma once

#include <string>
#include <vector>

#include "fluvial/move/interface.hpp"
#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

inline constexpr std::size_t rails_max = 8;

/// An endpoint of another host, and the interface of this one that leads there.
struct Reach {
    std::string interface;
    Endpoint endpoint;
};

/// "auto", "one", or interfaces of this host that are up, by name, address or network, several
/// separated by commas. Throws InvalidArgument, which lists the interfaces, for others.
void check_interfaces(const std::string& chosen);
/// Of `endpoints` those that the interfaces `chosen` may use: all with "auto" and "one", or those
/// in the networks of the interfaces that are given. Throws InvalidArgument as check_interfaces().
std::vector<Endpoint> led_to(const std::string& chosen, std::vector<Endpoint> endpoints);
/// Throws InvalidArgument: they lead to none of `endpoints`.
[[noreturn]] void throw_none_led_to(const std::string& chosen,
                                    const std::vector<Endpoint>& endpoints);

/// The rails to the host of these endpoints, `first` first. With "one" only that; with "auto" also
/// each endpoint in the network of another interface, if this is neither a bridge nor a tunnel;
/// with names the same of the interfaces that fit. An interface counts once, however many networks
/// it has, and so does a network; whether two rails end at the same interface of the other host is
/// for that to say.
std::vector<Reach> rails_to(const std::vector<Endpoint>& endpoints, const Reach& first,
                            const std::string& chosen);
/// The same of a host that has the interfaces `here`.
std::vector<Reach> rails_among(const std::vector<Interface>& here,
                               const std::vector<Endpoint>& endpoints, const Reach& first,
                               const std::string& chosen);

}  // namespace fluvial::move
