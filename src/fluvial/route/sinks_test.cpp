// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/sinks.hpp"

#include <map>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::route;

TEST_CASE("parts end where the bytes do, and differ by one byte at most") {
    CHECK(ends_of_parts(10, 4) == std::vector<std::uint64_t>{2, 5, 7, 10});
    CHECK(ends_of_parts(1, 3) == std::vector<std::uint64_t>{0, 0, 1});
    CHECK(ends_of_parts(0, 2) == std::vector<std::uint64_t>{0, 0});
    const std::uint64_t many = ~std::uint64_t{0};
    CHECK(ends_of_parts(many, 2) == std::vector<std::uint64_t>{many / 2, many});
}

TEST_CASE("any data: all of it goes somewhere, in its order, and no sink takes more than others") {
    const TopologyPtr torus = make_topology("torus:5x5");
    std::mt19937 random(test_seed(2316));
    const auto any = [&](std::uint64_t n) { return static_cast<std::uint64_t>(random()) % n; };
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<HostBytes> sources;
        for (std::uint64_t i = any(20); i-- > 0;) {
            sources.push_back({static_cast<Node>(any(25)), any(3) == 0 ? 0 : any(1000)});
        }
        std::vector<Node> sinks(1 + any(9));
        std::iota(sinks.begin(), sinks.end(), static_cast<Node>(any(16)));
        double total = 0;
        for (const HostBytes& source : sources) {
            total += static_cast<double>(source.bytes);
        }
        std::map<Node, double> taken;
        Node sink = sinks[0];
        std::size_t source = 0;
        double sent = 0;
        for (const Flow& flow : balance_sinks(*torus, sources, sinks)) {
            REQUIRE(flow.bytes > 0);
            REQUIRE(flow.to >= sink);
            sink = flow.to;
            taken[sink] += flow.bytes;
            while (sources[source].bytes == sent) {
                ++source;
                sent = 0;
            }
            REQUIRE(flow.from == sources[source].host);
            sent += flow.bytes;
            REQUIRE(sent <= sources[source].bytes);
        }
        double all = 0;
        for (const Node one : sinks) {
            REQUIRE(taken[one] <= total / static_cast<double>(sinks.size()) + 1);
            all += taken[one];
        }
        REQUIRE(all == total);
    }
}

TEST_CASE("the plan of balanced flows fills all I/O hosts, where direct writes fill one") {
    const TopologyPtr bgq = make_topology("bgq:4x4x4x4x2,io=64,io-bandwidth=4e9");
    std::vector<HostBytes> sources;
    std::vector<Flow> direct;
    for (Node host = 0; host < 51; ++host) {
        const std::uint64_t bytes = 1'000'000 + 100'000 * static_cast<std::uint64_t>(host);
        sources.push_back({host, bytes});
        direct.push_back({host, 512, static_cast<double>(bytes)});
    }
    std::vector<Node> sinks(8);
    std::iota(sinks.begin(), sinks.end(), 512);
    const double bytes =
        std::accumulate(sources.begin(), sources.end(), 0.0,
                        [](double sum, const HostBytes& one) { return sum + one.bytes; });
    const double at_best_s = bytes / 8 / 4e9;
    const Plan plan = make_plan(*bgq, balance_sinks(*bgq, sources, sinks));
    CHECK(plan.load_s == doctest::Approx(at_best_s).epsilon(0.01));
    CHECK(plan.direct_load_s > 1.1 * at_best_s);
    CHECK(plan_direct(*bgq, direct).load_s > 7.9 * at_best_s);
    for (const auto& paths : plan.paths) {
        for (const Path& path : paths) {
            for (std::size_t stop = 1; stop + 1 < path.stops.size(); ++stop) {
                REQUIRE(path.stops[stop] < 512);  // no I/O host passes data on
            }
        }
    }
}

TEST_CASE("no sink, and hosts that do not exist") {
    const TopologyPtr torus = make_topology("torus:4x4");
    const std::vector<HostBytes> data{{0, 5}}, nowhere{{16, 5}};
    const std::vector<Node> none, sink{3}, outside{16};
    CHECK_THROWS_WITH_AS(balance_sinks(*torus, data, none), doctest::Contains("no sink"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(balance_sinks(*torus, data, outside), doctest::Contains("0 to 15"),
                         InvalidArgument);
    CHECK_THROWS_AS(balance_sinks(*torus, nowhere, sink), InvalidArgument);
    CHECK(balance_sinks(*torus, {}, sink).empty());
}
