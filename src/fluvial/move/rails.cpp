// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rails.hpp"

#include <algorithm>
#include <sstream>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

bool by_name(const std::string& chosen) {
    return chosen != "auto" && chosen != "one";
}

/// Throws InvalidArgument for a part of `chosen` that no interface fits.
std::vector<Interface> fitting(const std::string& chosen, const std::vector<Interface>& here) {
    std::vector<Interface> found;
    std::istringstream parts(chosen);
    for (std::string wanted; std::getline(parts, wanted, ',');) {
        const std::size_t before = found.size();
        std::copy_if(here.begin(), here.end(), std::back_inserter(found),
                     [&](const Interface& interface) { return fits(interface, wanted); });
        if (found.size() == before) {
            throw_none_fits("interfaces", wanted, "'auto', 'one'", here);
        }
    }
    return found;
}

/// The interface whose network has the address: of several, the one with the smallest network.
const Interface* leading_to(const std::string& address, const std::vector<Interface>& here) {
    const auto octets = octets_of(address);
    const Interface* best = nullptr;
    for (const Interface& interface : here) {
        const bool has = octets && same_network(*octets, interface.octets, interface.prefix_bits);
        if (has && (best == nullptr || interface.prefix_bits > best->prefix_bits)) {
            best = &interface;
        }
    }
    return best;
}

bool is_own(const std::string& address, const std::vector<Interface>& here) {
    return std::any_of(here.begin(), here.end(),
                       [&](const Interface& one) { return one.address == address; });
}

}  // namespace

void check_interfaces(const std::string& chosen) {
    if (by_name(chosen)) {
        fitting(chosen, interfaces());
    }
}

std::vector<Endpoint> led_to(const std::string& chosen, std::vector<Endpoint> endpoints) {
    if (by_name(chosen)) {
        const std::vector<Interface> usable = fitting(chosen, interfaces());
        std::erase_if(endpoints, [&](const Endpoint& endpoint) {
            return leading_to(endpoint.address, usable) == nullptr;
        });
    }
    return endpoints;
}

void throw_none_led_to(const std::string& chosen, const std::vector<Endpoint>& endpoints) {
    std::string all;
    for (const Endpoint& endpoint : endpoints) {
        all += text(all.empty() ? "" : ", ", text_of(endpoint));
    }
    throw InvalidArgument(
        Problem{"the interfaces that were chosen lead to no address of the writer",
                text("interfaces='", chosen.substr(0, 80), "'"),
                text("'auto', 'one', or interfaces with a network that has one of ", all), ""});
}

std::vector<Reach> rails_among(const std::vector<Interface>& here,
                               const std::vector<Endpoint>& endpoints, const Reach& first,
                               const std::string& chosen) {
    std::vector<Reach> rails = {first};
    if (chosen == "one" || is_own(first.endpoint.address, here)) {
        return rails;
    }
    const bool named = by_name(chosen);
    const std::vector<Interface> chosen_here = named ? fitting(chosen, here) : here;
    for (const Endpoint& endpoint : endpoints) {
        const Interface* const interface = leading_to(endpoint.address, chosen_here);
        if (interface == nullptr || interface->loopback || (interface->inner && !named) ||
            is_own(endpoint.address, here) || rails.size() == rails_max) {
            continue;
        }
        const bool known = std::any_of(rails.begin(), rails.end(), [&](const Reach& rail) {
            return rail.interface == interface->name || rail.endpoint == endpoint;
        });
        if (!known) {
            rails.push_back({interface->name, endpoint});
        }
    }
    return rails;
}

std::vector<Reach> rails_to(const std::vector<Endpoint>& endpoints, const Reach& first,
                            const std::string& chosen) {
    std::vector<Interface> here;
    try {
        here = interfaces();
    } catch (const SystemError&) {  // no descriptor is free: there would be none for others either
        return {first};
    }
    return rails_among(here, endpoints, first, chosen);
}

}  // namespace fluvial::move
