// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/association.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

Member member(Role role, int host) {
    return {role, host, {}};
}

std::vector<Member> random_members(std::mt19937& random) {
    std::vector<Member> members;
    const int size = 1 + static_cast<int>(random() % 40);
    for (int rank = 0; rank < size; ++rank) {
        members.push_back(member(static_cast<Role>(random() % 4), static_cast<int>(random() % 3)));
    }
    members.push_back(member(Role::Consumer, 0));
    return members;
}

/// As nearest_consumers() is described, with a look at every consumer for each producer.
std::vector<int> looked_up(const std::vector<Member>& members) {
    std::vector<int> loads(members.size(), 0);
    std::vector<int> consumer(members.size(), -1);
    int producers = 0;
    int consumers = 0;
    for (const Member& member : members) {
        producers += produces(member.role) ? 1 : 0;
        consumers += consumes(member.role) ? 1 : 0;
    }
    const int load_max = (producers + consumers - 1) / consumers;
    const auto place = [&](const auto& serves) {
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            if (!produces(members[rank].role) || consumer[rank] >= 0) {
                continue;
            }
            std::size_t best = members.size();
            for (std::size_t at = 0; at < members.size(); ++at) {
                if (!consumes(members[at].role) || loads[at] >= load_max || !serves(rank, at)) {
                    continue;
                }
                if (best == members.size() || loads[at] < loads[best]) {
                    best = at;
                }
            }
            if (best == members.size()) {
                continue;
            }
            ++loads[best];
            consumer[rank] = static_cast<int>(best);
        }
    };
    place([](std::size_t rank, std::size_t at) { return rank == at; });
    place([&](std::size_t rank, std::size_t at) { return members[rank].host == members[at].host; });
    place([](std::size_t, std::size_t) { return true; });
    return consumer;
}

}  // namespace

TEST_CASE("producers are served on their own host, and by themselves where they can") {
    const std::vector<Member> members{member(Role::Producer, 0), member(Role::Producer, 5),
                                      member(Role::Both, 5),     member(Role::Consumer, 0),
                                      member(Role::None, 0),     member(Role::Producer, 0)};
    CHECK(nearest_consumers(members) == std::vector<int>{3, 2, 2, -1, -1, 3});
}

TEST_CASE("a host with too many producers gives the rest away") {
    std::vector<Member> members(4, member(Role::Producer, 0));
    members.push_back(member(Role::Consumer, 0));
    members.push_back(member(Role::Consumer, 6));
    CHECK(nearest_consumers(members) == std::vector<int>{4, 4, 5, 5, -1, -1});
}

TEST_CASE("random channels are balanced") {
    std::mt19937 random(7);
    for (int trial = 0; trial < 500; ++trial) {
        CAPTURE(trial);
        const std::vector<Member> members = random_members(random);
        const std::vector<int> consumer = nearest_consumers(members);
        CHECK(consumer == looked_up(members));
        std::vector<int> loads(members.size(), 0);
        int producers = 0;
        int consumers = 0;
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            consumers += consumes(members[rank].role) ? 1 : 0;
            CHECK((consumer[rank] >= 0) == produces(members[rank].role));
            if (consumer[rank] < 0) {
                continue;
            }
            ++producers;
            ++loads[static_cast<std::size_t>(consumer[rank])];
            CHECK(consumes(members[static_cast<std::size_t>(consumer[rank])].role));
        }
        CHECK(*std::max_element(loads.begin(), loads.end()) <=
              (producers + consumers - 1) / consumers);
    }
}

TEST_CASE("keys spread, and equal keys stay together") {
    const Association association = Association::by_key(8, 8);
    std::vector<int> hits(7, 0);
    for (std::uint64_t key = 0; key < 7000; ++key) {
        std::uint64_t element[3] = {key * 13, key, ~key};
        const std::uint64_t chosen = association.choose(std::as_bytes(std::span(element)));
        element[0] = element[2] = 5;
        CHECK(association.choose(std::as_bytes(std::span(element))) == chosen);
        ++hits[static_cast<std::size_t>(chosen % 7)];
    }
    for (const int n : hits) {
        CHECK(n > 800);
        CHECK(n < 1200);
    }
    const Association real = Association::by_real_key(8, 16, 8, 7);
    const auto chosen = [&](double a, double b) {
        const double element[3] = {a - b, a, b};
        return real.choose(std::as_bytes(std::span(element)));
    };
    CHECK(chosen(0.0, 1.0) == chosen(-0.0, 1.0));
    CHECK(chosen(1.0, 0.0) == chosen(1.0, -0.0));
    CHECK(chosen(0.0, 1.0) != chosen(0.0, -1.0));
    CHECK(chosen(0.0, 5e-324) != chosen(0.0, -5e-324));
    const std::byte small[12] = {};
    CHECK_THROWS_WITH_AS(association.choose(small),
                         doctest::Contains("8 bytes from byte 8; allowed: inside its 12 bytes"),
                         InvalidArgument);
}

TEST_CASE("a key of no bytes, which all elements would share, is refused") {
    CHECK_THROWS_WITH_AS(Association::by_key(3, 0),
                         doctest::Contains("got 0 bytes from byte 3; allowed: 1 byte or more"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(Association::by_real_key(0, 0, 8, 7),
                         doctest::Contains("a key has no bytes"), InvalidArgument);
}

TEST_CASE("a key of floating-point numbers has whole numbers, and a sign in each") {
    CHECK_THROWS_WITH_AS(Association::by_real_key(0, 8, 0, 0),
                         doctest::Contains("got 8 bytes, of numbers of 0; allowed: 1 byte or more"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(Association::by_real_key(0, 12, 8, 7),
                         doctest::Contains("got 12 bytes, of numbers of 8"), InvalidArgument);
    CHECK_THROWS_WITH_AS(Association::by_real_key(0, 8, 8, 8),
                         doctest::Contains("got byte 8; allowed: 0 to 7"), InvalidArgument);
    CHECK_THROWS_AS(Association::by_real_key(0, 8, 8, 1'000'000), InvalidArgument);
    CHECK_NOTHROW(Association::by_real_key(0, 8, 8, 7));
    CHECK(Association::by_real_key(0, 8, 8, 7).declared !=
          Association::by_real_key(0, 8, 8, 0).declared);
}
