// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/network.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

using Octets = std::vector<unsigned char>;

struct Interface {
    std::string name;
    std::string address;
    Octets octets;
    int prefix_bits = 0;
    bool loopback = false;
};

Octets octets_of(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        const auto* first = reinterpret_cast<const unsigned char*>(&four);
        return {first, first + sizeof four};
    }
    const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    return {std::begin(six.s6_addr), std::end(six.s6_addr)};
}

std::optional<Octets> octets_of(const std::string& address) {
    Octets octets(sizeof(in6_addr));
    if (::inet_pton(AF_INET6, address.c_str(), octets.data()) == 1) {
        return octets;
    }
    octets.resize(sizeof(in_addr));
    if (::inet_pton(AF_INET, address.c_str(), octets.data()) == 1) {
        return octets;
    }
    return std::nullopt;
}

std::string text_of(const Octets& octets) {
    char name[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(octets.size() == sizeof(in_addr) ? AF_INET : AF_INET6, octets.data(), name,
                sizeof name);
    return name;
}

int bits_of(const Octets& mask) {
    int bits = 0;
    for (const unsigned char octet : mask) {
        bits += __builtin_popcount(octet);
    }
    return bits;
}

bool same_network(const Octets& a, const Octets& b, int prefix_bits) {
    if (a.size() != b.size()) {
        return false;
    }
    for (int bit = 0; bit < prefix_bits; ++bit) {
        const auto octet = static_cast<std::size_t>(bit / 8);
        const unsigned mask = 0x80u >> (bit % 8);
        if ((a[octet] & mask) != (b[octet] & mask)) {
            return false;
        }
    }
    return true;
}

/// Addresses that are of one link only (fe80::/10) are of no use without its name.
bool is_link_local(const Octets& octets) {
    return octets.size() == sizeof(in6_addr) && octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80;
}

std::vector<Interface> interfaces() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        throw_errno("cannot list the network interfaces of this host", errno);
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
    std::vector<Interface> all;
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
        const bool usable =
            i->ifa_addr != nullptr && i->ifa_netmask != nullptr && (i->ifa_flags & IFF_UP) != 0 &&
            (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);
        if (!usable || is_link_local(octets_of(i->ifa_addr))) {
            continue;
        }
        Interface found;
        found.name = i->ifa_name;
        found.octets = octets_of(i->ifa_addr);
        found.address = text_of(found.octets);
        // Some kernels give the mask no family.
        sockaddr_storage mask{};
        std::memcpy(&mask, i->ifa_netmask,
                    i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        mask.ss_family = i->ifa_addr->sa_family;
        found.prefix_bits = bits_of(octets_of(reinterpret_cast<const sockaddr*>(&mask)));
        found.loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
        all.push_back(std::move(found));
    }
    return all;
}

bool fits(const Interface& interface, const std::string& wanted) {
    if (wanted == interface.name || wanted == interface.address) {
        return true;
    }
    const auto slash = wanted.find('/');
    if (slash == std::string::npos) {
        return false;
    }
    const auto network = octets_of(wanted.substr(0, slash));
    int bits = -1;
    const char* last = wanted.data() + wanted.size();
    const auto parsed = std::from_chars(wanted.data() + slash + 1, last, bits);
    return network && parsed.ptr == last && bits >= 0 &&
           bits <= static_cast<int>(8 * network->size()) &&
           same_network(*network, interface.octets, bits);
}

[[noreturn]] void throw_none_fits(const std::string& network, const std::vector<Interface>& all) {
    std::string known;
    for (const Interface& interface : all) {
        known += text(known.empty() ? "" : ", ", interface.name, " (", interface.address, '/',
                      interface.prefix_bits, ')');
    }
    throw InvalidArgument(
        Problem{"no network interface of this host that is up fits the option network",
                text("'", network.substr(0, 80), "'"),
                "'auto', 'off', or the name, address or network of one of " + known, ""});
}

}  // namespace

PortRange ports_of(const std::string& given) {
    if (given.empty()) {
        return {};
    }
    PortRange range;
    const char* last = given.data() + given.size();
    auto parsed = std::from_chars(given.data(), last, range.first);
    range.last = range.first;
    bool good = parsed.ec == std::errc() && range.first != 0;
    if (good && parsed.ptr != last) {
        good = *parsed.ptr == '-';
        if (good) {
            parsed = std::from_chars(parsed.ptr + 1, last, range.last);
            good = parsed.ec == std::errc();
        }
    }
    if (!good || parsed.ptr != last || range.last < range.first) {
        throw InvalidArgument(Problem{"this is no range of ports",
                                      text("'", given.substr(0, 80), "'"),
                                      "two numbers from 1 to 65535, as '40000-40100', or one", ""});
    }
    return range;
}

Interfaces interfaces_of(const std::string& network) {
    Interfaces result;
    if (network == "off") {
        return result;
    }
    const std::vector<Interface> all = interfaces();
    if (network == "auto") {
        bool six = false;
        for (const bool loopback : {false, true}) {
            for (const Interface& interface : all) {
                if (interface.loopback == loopback && (!loopback || result.reachable_at.empty())) {
                    result.reachable_at.push_back(interface.address);
                }
                six = six || interface.octets.size() == sizeof(in6_addr);
            }
        }
        if (!result.reachable_at.empty()) {
            result.listen_on = {"0.0.0.0"};
            if (six) {
                result.listen_on.emplace_back("::");
            }
        }
        return result;
    }
    std::istringstream parts(network);
    for (std::string wanted; std::getline(parts, wanted, ',');) {
        const std::size_t before = result.listen_on.size();
        for (const Interface& interface : all) {
            if (fits(interface, wanted) &&
                std::find(result.listen_on.begin(), result.listen_on.end(), interface.address) ==
                    result.listen_on.end()) {
                result.listen_on.push_back(interface.address);
            }
        }
        if (result.listen_on.size() == before) {
            throw_none_fits(wanted, all);
        }
    }
    if (result.listen_on.empty()) {
        throw_none_fits(network, all);
    }
    result.reachable_at = result.listen_on;
    return result;
}

std::vector<Endpoint> nearest_first(std::vector<Endpoint> endpoints) {
    const std::vector<Interface> all = interfaces();
    std::stable_partition(endpoints.begin(), endpoints.end(), [&](const Endpoint& endpoint) {
        const auto octets = octets_of(endpoint.address);
        return octets && std::any_of(all.begin(), all.end(), [&](const Interface& interface) {
                   return same_network(*octets, interface.octets, interface.prefix_bits);
               });
    });
    return endpoints;
}

}  // namespace fluvial::move
