// SPDX-License-Identifier: Apache-2.0
/// Flows between ranks, planned together on a network. Where ranks share a host, they share its
/// paths.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fluvial/route/plan.hpp"
#include "fluvial/route/rank_flow.hpp"

namespace fluvial::route {

/// Data that one rank has for another.
struct RankBytes {
    int from = 0, to = 0;
    std::size_t bytes = 0;
};

struct RankPlanOptions {
    std::string planner = "best";
    Limits limits;
    RankFlowOptions flow;
};

struct RankPlan {
    std::vector<RankFlow> flows;           ///< in the order of what was given
    std::string planner;                   ///< that made the plan, as Plan::planner
    double load_s = 0, direct_load_s = 0;  ///< as Plan has them
};

/// The flows between two hosts are planned as one, on the hosts that `topology` says; proxies are
/// the first ranks of their hosts. Flows on one host go direct, and so do small ones. Throws as
/// make_plan and rank_flows do, and InvalidArgument where the topology has no host for a rank.
RankPlan plan_between_ranks(const Topology& topology, std::span<const RankBytes> data, int ranks,
                            const RankPlanOptions& options = {});

/// The same without a network: each flow is one message.
std::vector<RankFlow> direct_between_ranks(std::span<const RankBytes> data);

}  // namespace fluvial::route
