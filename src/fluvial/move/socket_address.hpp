// SPDX-License-Identifier: Apache-2.0
/// Addresses as the calls of sockets take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>

#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

/// Of an address of IPv4 or IPv6 in numbers; none for anything else.
std::optional<Address> numeric(const std::string& address, std::uint16_t port);
Endpoint endpoint_of(const Address& address);

}  // namespace fluvial::move
