// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/network.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/interface.hpp"

using namespace fluvial;
using namespace fluvial::move;

TEST_CASE("ranges of ports") {
    CHECK(ports_of("").first == 0);
    CHECK(ports_of("40000").first == 40000);
    CHECK(ports_of("40000").last == 40000);
    CHECK(ports_of("40000-40100").last == 40100);
    for (const char* bad : {"0", "x", "1-", "-1", "2-1", "70000", "1-2-3", " 1", "1 - 2"}) {
        CHECK_THROWS_WITH_AS(ports_of(bad), doctest::Contains("no range of ports"),
                             InvalidArgument);
    }
}

TEST_CASE("endpoints in words and back") {
    for (const char* words : {"10.77.0.1:40123", "[fd00::1]:1"}) {
        CHECK(text_of(endpoint_of(words)) == words);
    }
}

TEST_CASE("the loopback interface by its name, its address and its network") {
    for (const char* choice : {"lo", "127.0.0.1", "127.0.0.0/8"}) {
        const Interfaces found = interfaces_of(choice);
        CHECK(std::count(found.listen_on.begin(), found.listen_on.end(), "127.0.0.1") == 1);
    }
    CHECK(interfaces_of("127.0.0.1, lo").listen_on == interfaces_of("127.0.0.1,lo").listen_on);
    CHECK(interfaces_of("off").listen_on.empty());
    for (const char* bad : {"no-such0", "203.0.113.7", "203.0.113.0/24", "127.0.0.0/33", "", " "}) {
        CHECK_THROWS_WITH_AS(interfaces_of(bad), doctest::Contains("lo (127.0.0.1/8)"),
                             InvalidArgument);
    }
}

TEST_CASE("a port that is taken is passed over, and a range that is taken is named") {
    const TcpListener first({"127.0.0.1"}, 0, 0);
    const std::uint16_t taken = first.port();
    CHECK_THROWS_WITH_AS(TcpListener({"127.0.0.1"}, taken, taken),
                         doctest::Contains("cannot listen on 127.0.0.1"), SystemError);
    if (taken < 65535) {
        CHECK(TcpListener({"127.0.0.1"}, taken, 65535).port() > taken);
    }
}

TEST_CASE("endpoints in a network of this host come first") {
    const auto sorted = nearest_first({{"203.0.113.7", 1}, {"127.0.0.1", 2}});
    CHECK(sorted.front().address == "127.0.0.1");
}

TEST_CASE("addresses that each host has for itself") {
    for (const char* inner : {"127.0.0.1", "127.8.8.8", "::1"}) {
        CHECK(is_loopback(inner));
    }
    for (const char* other : {"10.77.0.1", "128.0.0.1", "fd00::1", "::", "lo"}) {
        CHECK(!is_loopback(other));
    }
}
