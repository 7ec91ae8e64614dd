// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/network.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <netinet/in.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/interface.hpp"

namespace fluvial::move {

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
            throw_none_fits("network", wanted, "'auto', 'off'", all);
        }
    }
    if (result.listen_on.empty()) {
        throw_none_fits("network", network, "'auto', 'off'", all);
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
