// SPDX-License-Identifier: Apache-2.0
/// What ranks do for a plan: its hosts become ranks, and the model says how many paths pay.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/route/model.hpp"

namespace fluvial::route {

/// Data that moves from one rank to another.
struct RankFlow {
    int from = 0, to = 0;
    std::size_t bytes = 0;
    /// Of what is sent along a path at a time. 0: all at once, from rank to rank.
    std::size_t window_bytes = 0;
    /// Ranks that the data is sent to, the first and the last included; each path once.
    std::vector<std::vector<int>> paths;

    bool direct() const { return window_bytes == 0; }
};

/// 0 leaves a choice to the model.
struct RankFlowOptions {
    std::size_t paths = 0;
    std::size_t window_bytes = 0;
    Costs costs = mpi_like;
    /// Ranks where no flow begins or ends, and which are proxies before other ranks of their hosts.
    std::vector<int> helpers = {};
};

/// The first rank on each host; −1 where there is none of ranks 0 … `ranks` − 1.
std::vector<int> first_ranks(const Topology& topology, int ranks);

/// The ranks at which each flow begins and ends, as rank_flows() has them. Throws as it does.
std::vector<std::pair<int, int>> ends_of_flows(const Topology& topology,
                                               std::span<const Flow> flows, int ranks,
                                               const std::vector<int>& helpers = {});

/// The flows of a plan among ranks 0 … `ranks` − 1, where each host is its first rank
/// that is no helper (Topology::host_of_rank), and as a proxy its first helper. Paths by way of
/// hosts without ranks are left out; a flow that has none left goes direct, as do messages that are
/// small or have nothing to gain. `bytes` of each flow. Throws InvalidArgument where a flow begins
/// or ends at a host without ranks.
std::vector<RankFlow> rank_flows(const Topology& topology, std::span<const Flow> flows,
                                 const Plan& plan, std::span<const std::size_t> bytes, int ranks,
                                 const RankFlowOptions& options = {});

}  // namespace fluvial::route
