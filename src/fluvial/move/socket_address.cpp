// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/socket_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace fluvial::move {

std::optional<Address> numeric(const std::string& address, std::uint16_t port) {
    Address result;
    auto* four = reinterpret_cast<sockaddr_in*>(&result.storage);
    auto* six = reinterpret_cast<sockaddr_in6*>(&result.storage);
    if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        result.bytes = sizeof *four;
        return result;
    }
    if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        result.bytes = sizeof *six;
        return result;
    }
    return std::nullopt;
}

Endpoint endpoint_of(const Address& address) {
    char name[INET6_ADDRSTRLEN] = {};
    if (address.family() == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(&address.storage);
        ::inet_ntop(AF_INET, &four->sin_addr, name, sizeof name);
        return {name, ntohs(four->sin_port)};
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    ::inet_ntop(AF_INET6, &six->sin6_addr, name, sizeof name);
    return {name, ntohs(six->sin6_port)};
}

}  // namespace fluvial::move
