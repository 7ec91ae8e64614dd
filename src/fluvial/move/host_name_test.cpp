// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/host_name.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::move;

TEST_CASE("hosts by name or number, with a port") {
    for (const char* good : {"node17:40123", "a.b-c.org:1", "10.77.0.1:40123", "[fd00::1]:1"}) {
        CHECK(text_of(endpoint_by_name(good)) == good);
    }
    for (const char* bad : {"node17", "node17:", "node17:0", "node17:70000", "node 17:1", "-x:1",
                            ":40123", "", "10.77.0.300:1", "a/b:1", "fd00::1:1:", "x:1\n"}) {
        CHECK_THROWS_WITH_AS(endpoint_by_name(bad), doctest::Contains("no host with a port"),
                             InvalidArgument);
    }
}

TEST_CASE("names have the addresses that the system knows") {
    std::string why;
    const auto here = resolved({"localhost", 7}, Deadline(30), why);
    CHECK(std::ranges::count(here, Endpoint{"127.0.0.1", 7}) == 1);
    CHECK(resolved({"10.77.0.1", 7}, Deadline(0), why) == std::vector<Endpoint>{{"10.77.0.1", 7}});
    CHECK(why.empty());
    CHECK(resolved({"no-such-host.invalid", 7}, Deadline(30), why).empty());
    CHECK(!why.empty());
}
