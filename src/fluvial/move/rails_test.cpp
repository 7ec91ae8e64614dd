// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rails.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

Interface interface(const std::string& name, const std::string& address, int prefix_bits) {
    return {name,        address,      *octets_of(address),
            prefix_bits, name == "lo", name == "lo" || name == "docker0"};
}

const std::vector<Interface> here = {
    interface("lo", "127.0.0.1", 8),        interface("eth0", "10.77.0.2", 24),
    interface("eth1", "10.79.0.2", 24),     interface("eth1", "fd00::2", 64),
    interface("docker0", "172.17.0.1", 16), interface("eth2", "192.168.5.2", 24),
    interface("eth3", "192.168.5.3", 24),
};

std::string rails(const std::vector<std::string>& addresses, const std::string& chosen = "auto") {
    std::vector<Endpoint> endpoints;
    for (const std::string& address : addresses) {
        endpoints.push_back({address, 4000});
    }
    std::string all;
    for (const Reach& rail :
         rails_among(here, endpoints, {"eth0", {addresses.front(), 4000}}, chosen)) {
        all += (all.empty() ? "" : " ") + rail.interface + ">" + rail.endpoint.address;
    }
    return all;
}

}  // namespace

TEST_CASE("each network that joins two hosts is a rail") {
    CHECK(rails({"10.77.0.1", "10.79.0.1", "192.168.5.1"}) ==
          "eth0>10.77.0.1 eth1>10.79.0.1 eth2>192.168.5.1");
    CHECK(rails({"10.77.0.1", "10.79.0.1"}, "one") == "eth0>10.77.0.1");
}

TEST_CASE("an interface of this host, and a network of two of them, count once") {
    CHECK(rails({"10.77.0.1", "10.77.0.9"}) == "eth0>10.77.0.1");
    CHECK(rails({"10.77.0.1", "10.79.0.1", "fd00::1"}) == "eth0>10.77.0.1 eth1>10.79.0.1");
    CHECK(rails({"10.77.0.1", "192.168.5.1", "192.168.5.9"}) == "eth0>10.77.0.1 eth2>192.168.5.1");
}

TEST_CASE("loopback, bridges, addresses of this host and other networks are no rails") {
    CHECK(rails({"10.77.0.1", "172.17.0.1", "172.17.0.9", "127.0.0.1", "10.79.0.2",
                 "203.0.113.7"}) == "eth0>10.77.0.1");
    CHECK(rails({"10.77.0.2", "10.79.0.1"}) == "eth0>10.77.0.2");  // the writer is on this host
}

TEST_CASE("interfaces that are chosen count, whatever they are, and others do not") {
    CHECK(rails({"10.77.0.1", "10.79.0.1", "172.17.0.9"}, "eth0,172.17.0.0/16") ==
          "eth0>10.77.0.1 docker0>172.17.0.9");
    CHECK_THROWS_WITH_AS(rails({"10.77.0.1"}, "eth0,ib0"),
                         doctest::Contains("fits the option interfaces: got 'ib0'"),
                         InvalidArgument);
}

TEST_CASE("endpoints that the chosen interfaces of this very host reach") {
    const std::vector<Endpoint> all = {{"203.0.113.7", 1}, {"127.0.0.5", 2}};
    CHECK(led_to("auto", all) == all);
    CHECK(led_to("lo", all) == std::vector<Endpoint>{{"127.0.0.5", 2}});
    CHECK(led_to("127.0.0.1", {{"203.0.113.7", 1}}).empty());
    CHECK_THROWS_WITH_AS(throw_none_led_to("127.0.0.1", all),
                         doctest::Contains("lead to no address of the writer"), InvalidArgument);
    for (const char* bad : {"no-such0", "lo,no-such0", "203.0.113.0/24", ","}) {
        CHECK_THROWS_WITH_AS(led_to(bad, all), doctest::Contains("lo (127.0.0.1/8)"),
                             InvalidArgument);
        CHECK_THROWS_WITH_AS(check_interfaces(bad), doctest::Contains("lo (127.0.0.1/8)"),
                             InvalidArgument);
    }
    for (const char* good : {"auto", "one", "lo", "127.0.0.0/8"}) {
        CHECK_NOTHROW(check_interfaces(good));
    }
}
