// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/roles.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::flow;

using Ranks = std::vector<int>;

TEST_CASE("one server is the lead, which runs no tasks unless it is alone or told to") {
    CHECK(Roles({0, 0, 0}, false, 1).workers() == Ranks{1, 2});
    CHECK(Roles({0, 0, 0}, true, 1).workers() == Ranks{0, 1, 2});
    CHECK(Roles({0}, false, 1).workers() == Ranks{0});
    const Roles roles({0, 0, 0}, false, 1);
    CHECK(roles.relays().empty());
    CHECK(roles.server_of(2) == lead_rank);
    CHECK(roles.worker_of(0) == -1);
    CHECK(roles.worker_of(2) == 1);
    CHECK_FALSE(roles.is_relay(0));
    CHECK_FALSE(roles.runs_tasks(3));
    CHECK_FALSE(roles.runs_tasks(-1));
}

TEST_CASE("each other server has a group of about the same size") {
    for (int size = 3; size < 60; ++size) {
        for (int servers = 2; 2 * (servers - 1) <= size - 1; ++servers) {
            const Roles roles(Ranks(static_cast<std::size_t>(size), 0), false, servers);
            REQUIRE(static_cast<int>(roles.relays().size()) == servers - 1);
            REQUIRE(static_cast<int>(roles.workers().size()) == size - servers);
            std::size_t all = 0, least = 100, most = 0;
            for (const int relay : roles.relays()) {
                REQUIRE(roles.is_relay(relay));
                REQUIRE(roles.server_of(relay) == lead_rank);
                const std::size_t served = roles.served_by(relay).size();
                all += served;
                least = std::min(least, served);
                most = std::max(most, served);
            }
            REQUIRE(all == roles.workers().size());
            REQUIRE(least >= 1);
            REQUIRE(most - least <= 1);
        }
    }
}

TEST_CASE("groups follow hosts, however their ranks are numbered") {
    const Roles roles({0, 1, 0, 1, 0, 1, 0}, false, 3);
    CHECK(roles.relays() == Ranks{1, 2});
    CHECK(roles.served_by(2) == Ranks{4, 6});
    CHECK(roles.served_by(1) == Ranks{3, 5});
    CHECK(roles.workers_in_words() == "ranks 3 to 6");
}

TEST_CASE("by host, each host has a server, the lead its own") {
    const Roles roles({0, 0, 2, 2, 2, 5, 6, 6}, true, servers_by_host);
    CHECK(roles.relays() == Ranks{2, 6});
    CHECK(roles.workers() == Ranks{0, 1, 3, 4, 5, 7});
    CHECK(roles.served_by(lead_rank) == Ranks{0, 1, 5});
    CHECK(roles.served_by(2) == Ranks{3, 4});
    CHECK(roles.served_by(6) == Ranks{7});
    CHECK(roles.workers_in_words() == "ranks 0 to 1, 3 to 5, 7");
    CHECK(Roles({0, 0, 0}, false, servers_by_host).relays().empty());
}

TEST_CASE("servers that would have nobody to serve") {
    CHECK_THROWS_WITH_AS(Roles({0, 0, 0, 0}, false, 3),
                         "the number of servers of a pool is out of range: got 3; allowed: 1 to 2 "
                         "for 4 ranks. Each server other than rank 0 needs a rank that runs tasks",
                         InvalidArgument);
    CHECK_THROWS_AS(Roles({0}, false, 2), InvalidArgument);
    CHECK_THROWS_AS(Roles({0, 0, 0}, false, -1), InvalidArgument);
}
