// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/interface.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/memory_file.hpp"

namespace fluvial::move {
namespace {

Octets octets_in(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        const auto* first = reinterpret_cast<const unsigned char*>(&four);
        return {first, first + sizeof four};
    }
    const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    return {std::begin(six.s6_addr), std::end(six.s6_addr)};
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

/// Addresses that are of one link only (fe80::/10) are of no use without its name.
bool is_link_local(const Octets& octets) {
    return octets.size() == sizeof(in6_addr) && octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80;
}

/// It joins other interfaces, as docker's does, and leads to no network of its own.
bool is_bridge(const std::string& name) {
    const host::Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    ifreq asked{};
    name.copy(asked.ifr_name, sizeof asked.ifr_name - 1);
    asked.ifr_data = reinterpret_cast<char*>(&driver);
    return any.valid() && ::ioctl(any.get(), SIOCETHTOOL, &asked) == 0 &&
           std::strcmp(driver.driver, "bridge") == 0;
}

}  // namespace

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

bool is_loopback(const std::string& address) {
    constexpr int first_octet = 127;
    const auto octets = octets_of(address);
    return octets &&
           (octets->size() == sizeof(in_addr)
                ? octets->front() == first_octet
                : IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(octets->data())));
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
        if (!usable || is_link_local(octets_in(i->ifa_addr))) {
            continue;
        }
        Interface found;
        found.name = i->ifa_name;
        found.octets = octets_in(i->ifa_addr);
        found.address = text_of(found.octets);
        // Some kernels give the mask no family.
        sockaddr_storage mask{};
        std::memcpy(&mask, i->ifa_netmask,
                    i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        mask.ss_family = i->ifa_addr->sa_family;
        found.prefix_bits = bits_of(octets_in(reinterpret_cast<const sockaddr*>(&mask)));
        found.loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
        found.inner =
            found.loopback || (i->ifa_flags & IFF_POINTOPOINT) != 0 || is_bridge(found.name);
        all.push_back(std::move(found));
    }
    return all;
}

bool fits(const Interface& interface, const std::string& given) {
    const auto first = std::min(given.find_first_not_of(' '), given.size());
    const std::string wanted = given.substr(first, given.find_last_not_of(' ') + 1 - first);
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

void throw_none_fits(const std::string& option, const std::string& wanted,
                     const std::string& others, const std::vector<Interface>& all) {
    std::string known;
    for (const Interface& interface : all) {
        known += text(known.empty() ? "" : ", ", interface.name, " (", interface.address, '/',
                      interface.prefix_bits, ')');
    }
    throw InvalidArgument(
        Problem{text("no network interface of this host that is up fits the option ", option),
                text("'", wanted.substr(0, 80), "'"),
                text(others, ", or the name, address or network of one of ", known), ""});
}

std::string interface_of(const std::string& address) {
    std::vector<Interface> all;
    try {
        all = interfaces();
    } catch (const SystemError&) {  // no descriptor is free
    }
    const auto found = std::find_if(all.begin(), all.end(), [&](const Interface& interface) {
        return interface.address == address;
    });
    return found != all.end() ? found->name : address;
}

}  // namespace fluvial::move
