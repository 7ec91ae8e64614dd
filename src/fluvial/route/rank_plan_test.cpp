// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/rank_plan.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/route/description.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

/// Three hosts, a link between any two; two ranks on each.
TopologyPtr pairs() {
    return make_topology(description_from_json(R"({
        "hosts": ["a", "b", "c"],
        "links": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}, {"from": "a", "to": "c"}],
        "ranks": ["a", "a", "b", "b", "c", "c"]})"),
                         "pairs");
}

}  // namespace

TEST_CASE("ranks of two hosts share the paths between these, and keep their own ends") {
    const std::vector<RankBytes> data{
        {0, 2, 4 << 20}, {1, 3, 4 << 20}, {0, 1, 4 << 20}, {1, 2, 100}, {5, 5, 10}};
    const RankPlan plan = plan_between_ranks(*pairs(), data, 6);
    CHECK(plan.planner == "disjoint");
    CHECK(plan.load_s < plan.direct_load_s);
    REQUIRE(plan.flows.size() == 5);
    CHECK(plan.flows[0].paths == std::vector<std::vector<int>>{{0, 2}, {0, 4, 2}});
    CHECK(plan.flows[1].paths == std::vector<std::vector<int>>{{1, 3}, {1, 4, 3}});
    CHECK(plan.flows[1].bytes == 4 << 20);
    CHECK(plan.flows[2].direct());  // on one host
    CHECK(plan.flows[3].direct());  // small
    CHECK(plan.flows[3].paths == std::vector<std::vector<int>>{{1, 2}});
    CHECK(plan.flows[4].paths.empty());
}

TEST_CASE("helpers are the proxies of their hosts, and no flow begins or ends at one") {
    const std::vector<Flow> flows{{0, 1, 4 << 20}};
    const std::vector<std::size_t> bytes{4 << 20};
    const TopologyPtr hosts = pairs();
    const Plan plan = make_plan(*hosts, flows);
    const auto found = rank_flows(*hosts, flows, plan, bytes, 6, {.helpers = {0, 5}});
    CHECK(found[0].from == 1);
    CHECK(found[0].paths == std::vector<std::vector<int>>{{1, 2}, {1, 5, 2}});
    CHECK_THROWS_WITH_AS(rank_flows(*hosts, flows, plan, bytes, 6, {.helpers = {2, 3}}),
                         doctest::Contains("allowed: hosts of the job's 6 ranks that do not help"),
                         InvalidArgument);
}

TEST_CASE("a rank that the topology does not know is named") {
    const std::vector<RankBytes> data{{0, 6, 10}};
    CHECK_THROWS_WITH_AS(plan_between_ranks(*pairs(), data, 7),
                         doctest::Contains("no host for a rank: got rank 6"), InvalidArgument);
    CHECK(direct_between_ranks(data)[0].direct());
}
