// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/route/max_flow.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

/// What holds for any plan: chains of whole routes, shares that add up, limits that are kept.
void check_plan(const Topology& topology, std::span<const Flow> flows, const Limits& limits,
                const Plan& plan) {
    REQUIRE(plan.paths.size() == flows.size());
    std::map<Node, int> forwarded;
    std::map<LinkId, int> used;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        double shares = 0;
        REQUIRE(plan.paths[i].empty() == (flows[i].from == flows[i].to));
        REQUIRE(plan.paths[i].size() <= static_cast<std::size_t>(limits.paths_per_flow));
        for (const Path& path : plan.paths[i]) {
            REQUIRE(path.stops.front() == flows[i].from);
            REQUIRE(path.stops.back() == flows[i].to);
            REQUIRE(path_along(topology, path.stops).links == path.links);
            REQUIRE(path.proxies() <= static_cast<std::size_t>(limits.proxies_per_path));
            for (std::size_t k = 1; k + 1 < path.stops.size(); ++k) {
                REQUIRE(++forwarded[path.stops[k]] <= limits.paths_per_proxy);
            }
            // A flow without a path of its own goes direct, over links of others.
            const bool shares_links = plan.paths[i].size() == 1 && path.proxies() == 0;
            for (const LinkId id : path.links) {
                REQUIRE((plan.planner != "disjoint" || shares_links || ++used[id] == 1));
            }
            REQUIRE(path.share > 0);
            shares += path.share;
        }
        if (!plan.paths[i].empty()) {
            REQUIRE(shares == doctest::Approx(1));
        }
    }
    REQUIRE(plan.load_s == load_of(topology, flows, plan.paths));
}

std::vector<Flow> random_pairs(std::mt19937& random, Node hosts, std::size_t count) {
    std::vector<Node> order(static_cast<std::size_t>(hosts));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < count; ++i) {
        flows.push_back({order[i], order[count + i], 1e6});
    }
    return flows;
}

}  // namespace

TEST_CASE("between any two hosts of the torus there are as many paths as a maximum flow has") {
    for (const char* text : {"bgq:4x4x4x4x2", "torus:6x6", "torus:3x3x3", "mesh:4x4", "torus:7"}) {
        CAPTURE(text);
        const TopologyPtr topology = make_topology(text);
        for (Node to = 1; to < topology->hosts(); ++to) {
            CAPTURE(to);
            const std::vector<Flow> flows{{0, to, 1}};
            const Plan plan = plan_disjoint(*topology, flows);
            check_plan(*topology, flows, {}, plan);
            const std::vector<Node> sources{0}, sinks{to};
            REQUIRE(plan.paths[0].size() ==
                    static_cast<std::size_t>(disjoint_ways(topology->graph(), sources, sinks)));
        }
    }
}

TEST_CASE("flows are planned together: random pairs, and two groups") {
    const TopologyPtr torus = make_topology("bgq:4x4x4x4x2");
    std::mt19937 random(1402);
    const std::vector<Flow> pairs = random_pairs(random, 512, 64);
    const Plan plan = make_plan(*torus, pairs);
    check_plan(*torus, pairs, {}, plan);
    CHECK(plan.planner == "disjoint");
    CHECK(plan.speed_up() >= 9);
    std::vector<Flow> groups;
    for (Node i = 0; i < 64; ++i) {
        groups.push_back({i, 448 + i, 1e6});
    }
    const Plan three = plan_disjoint(*torus, groups);
    check_plan(*torus, groups, {}, three);
    for (const auto& paths : three.paths) {
        CHECK(paths.size() == 3);  // the maximum flow between the groups is 192
    }
}

TEST_CASE("the slowest flow takes paths over from others that stay faster than it was") {
    const TopologyPtr torus = make_topology("torus:4x4");
    for (const std::vector<Flow>& flows :
         {std::vector<Flow>{{4, 12, 1e6}, {9, 1, 1e6}, {13, 15, 1e6}},
          std::vector<Flow>{{1, 9, 1e6}, {6, 0, 1e6}, {7, 3, 1e6}},
          std::vector<Flow>{{6, 15, 1e6}, {10, 9, 1e6}, {3, 8, 1e6}}}) {
        const Plan plan = plan_disjoint(*torus, flows);  // 2, 3 and 3 or 4 paths in rounds alone
        check_plan(*torus, flows, {}, plan);
        for (const std::vector<Path>& paths : plan.paths) {
            CHECK(paths.size() == 3);
        }
        CHECK(plan.speed_up() == doctest::Approx(3));
    }
}

TEST_CASE("where many flows want the one link between two groups, shared paths win") {
    const TopologyPtr fly = make_topology("dragonfly:9x8x4");
    std::vector<Flow> flows;
    for (Node i = 0; i < 16; ++i) {
        flows.push_back({i, 256 + i, 1e6});
    }
    const Plan plan = make_plan(*fly, flows);
    check_plan(*fly, flows, {}, plan);
    CHECK(plan.planner == "min-max");
    CHECK(plan.speed_up() >= 2.8);
    CHECK(plan.load_s <= plan_disjoint(*fly, flows).load_s);
}

TEST_CASE("one host with one link to the network gains nothing: its flow goes direct") {
    for (const char* text : {"fattree:4x4,up=1x2", "dragonfly:9x4x2"}) {
        const std::vector<Flow> flows{{0, 7, 1e6}};
        const Plan plan = make_plan(*make_topology(text), flows);
        CHECK(plan.planner == "direct");
        CHECK(plan.speed_up() == 1);
        CHECK(plan.paths[0].size() == 1);
    }
}

TEST_CASE("any flows, any limits, any planner: plans are sound and the same each time") {
    std::mt19937 random(test_seed(1403));
    for (const char* text : {"torus:4x3x2", "bgq:2x2x2x2x2,zone=1", "mesh:3x3,routing=shortest",
                             "fattree:3x4,up=1x2", "dragonfly:5x2x2", "mesh:1"}) {
        const TopologyPtr topology = make_topology(text);
        for (int trial = 0; trial < 20; ++trial) {
            const auto any = [&](unsigned n) { return static_cast<int>(random() % n); };
            const Limits limits{any(3), 1 + any(5), any(4)};
            std::vector<Flow> flows;
            for (int i = any(12); i-- > 0;) {
                const auto hosts = static_cast<unsigned>(topology->hosts());
                flows.push_back({any(hosts), any(hosts), static_cast<double>(any(4))});
            }
            for (const char* planner : {"best", "direct", "disjoint", "min-max"}) {
                CAPTURE(text);
                CAPTURE(planner);
                const Plan plan = make_plan(*topology, flows, limits, planner);
                check_plan(*topology, flows, limits, plan);
                REQUIRE(make_plan(*topology, flows, limits, planner).paths == plan.paths);
            }
            REQUIRE(make_plan(*topology, flows, limits).load_s <=
                    plan_direct(*topology, flows).load_s * (1 + 1e-9));
        }
    }
}

TEST_CASE("flows of the least and of the most bytes have plans, too") {
    const TopologyPtr torus = make_topology("torus:4x4");
    const TopologyPtr slow = make_topology("torus:4x4,bandwidth=1e-3");
    for (const double bytes : {4.9e-324, 1e-300, 1.7e308}) {
        CAPTURE(bytes);
        const std::vector<Flow> one{{0, 5, bytes}}, two{{0, 5, bytes}, {1, 5, bytes}};
        check_plan(*torus, one, {}, make_plan(*torus, one, {}, "min-max"));
        // What the largest ones load a link with is beyond what numbers hold.
        check_plan(*slow, two, {}, make_plan(*slow, two, {}, "min-max"));
    }
    const std::vector<Flow> one{{0, 5, 1}}, least{{0, 5, std::ldexp(1.0, -900)}};
    CHECK(make_plan(*torus, least, {}, "min-max").paths ==
          make_plan(*torus, one, {}, "min-max").paths);
}

TEST_CASE("a link with a quarter of the bandwidth gets a quarter of the share") {
    const Graph graph(4, 0, {{0, 1, 4, 0}, {0, 2, 4, 0}, {2, 1, 1, 0}, {0, 3, 4, 0}, {3, 1, 4, 0}});
    struct Neighbours final : Routing {
        explicit Neighbours(Graph of) : graph(std::move(of)) {}
        std::string describe() const override { return "neighbours"; }
        bool append(Node from, Node to, Route& route) const override {
            const auto link = graph.between(from, to);
            route.insert(route.end(), link.value_or(0));
            return link.has_value();
        }
        Graph graph;
    };
    const Topology topology("it", graph, std::make_shared<Neighbours>(graph));
    const std::vector<Flow> flows{{0, 1, 36}};
    const Plan plan = make_plan(topology, flows);
    REQUIRE(plan.paths[0].size() == 3);
    CHECK(plan.load_s == doctest::Approx(4));
    CHECK(plan.speed_up() == doctest::Approx(2.25));
}

TEST_CASE("flows that stay keep their paths") {
    const TopologyPtr torus = make_topology("torus:6x6");
    std::mt19937 random(1404);
    std::vector<Flow> flows = random_pairs(random, 36, 6);
    const Plan before = plan_disjoint(*torus, flows);
    std::vector<Flow> changed(flows.begin() + 1, flows.end());
    changed.push_back({flows[0].to, flows[0].from, 1e6});
    const Plan after = change_plan(*torus, changed, {}, flows, before);
    check_plan(*torus, changed, {}, after);
    for (std::size_t i = 0; i + 1 < changed.size(); ++i) {
        CHECK(after.paths[i] == before.paths[i + 1]);
    }
    CHECK(change_plan(*torus, flows, {}, flows, before).paths == before.paths);
    CHECK(change_plan(*torus, changed, {}, flows, before, "direct").planner == "direct");
    CHECK(change_plan(*torus, changed, {}, flows, plan_direct(*torus, flows), "direct").planner ==
          "direct");
    CHECK(change_plan(*torus, changed, {}, flows, before, "disjoint").paths == after.paths);
    CHECK(change_plan(*torus, changed, {}, flows, plan_min_max(*torus, flows), "min-max").planner ==
          "min-max");
    CHECK_THROWS_AS(change_plan(*torus, flows, {}, changed, plan_direct(*torus, {})),
                    InvalidArgument);
}

TEST_CASE("flows that stay plan anew where direct routes beat the paths that they had") {
    const TopologyPtr ring = make_topology("torus:5,routing=shortest");
    const std::vector<Flow> alone{{4, 3, 1}}, more{{4, 3, 1}, {1, 4, 1e6}, {4, 0, 1e6}};
    const Plan before = make_plan(*ring, alone);
    REQUIRE(before.planner == "disjoint");
    REQUIRE(change_plan(*ring, more, {}, alone, before, "disjoint").speed_up() < 1);
    CHECK(change_plan(*ring, more, {}, alone, before).speed_up() >= 1);
}

TEST_CASE("what cannot be planned says why") {
    const TopologyPtr torus = make_topology("torus:4");
    const std::vector<Flow> none, flows{{0, 1, 1}}, far{{0, 4, 1}}, negative{{0, 1, -1}},
        endless{{0, 1, HUGE_VAL}};
    CHECK(make_plan(*torus, none).paths.empty());
    CHECK_THROWS_WITH_AS(make_plan(*torus, far), doctest::Contains("0 to 3"), OutOfBounds);
    CHECK_THROWS_AS(make_plan(*torus, negative), InvalidArgument);
    CHECK_THROWS_AS(make_plan(*torus, endless), InvalidArgument);
    CHECK_THROWS_WITH_AS(make_plan(*torus, flows, {3, 16, 8}), doctest::Contains("0 to 2"),
                         InvalidArgument);
    CHECK_THROWS_AS(make_plan(*torus, flows, {2, 0, 8}), InvalidArgument);
    CHECK_THROWS_AS(make_plan(*torus, flows, {2, 1, -1}), InvalidArgument);
    CHECK_THROWS_WITH_AS(make_plan(*torus, flows, {}, "disjoin"),
                         doctest::Contains("Did you mean 'disjoint'?"), UnknownName);
}
