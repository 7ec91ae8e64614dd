// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/rank_plan.hpp"

#include <map>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial::route {
namespace {

using Hosts = std::pair<Node, Node>;

Node host_of(const Topology& topology, int rank) {
    const std::vector<Node>& hosts = topology.host_of_rank();
    const auto at = static_cast<std::size_t>(rank);
    if (rank < 0 || at >= hosts.size()) {
        throw InvalidArgument(Problem{"the topology has no host for a rank", text("rank ", rank),
                                      text("ranks 0 to ", hosts.size() - 1),
                                      "Take a larger one, or list its \"ranks\""});
    }
    return hosts[at];
}

/// The same paths, from and to other ranks of the two hosts.
RankFlow with_ends(const RankFlow& between_hosts, const RankBytes& data) {
    RankFlow flow = between_hosts;
    flow.from = data.from;
    flow.to = data.to;
    flow.bytes = data.bytes;
    for (std::vector<int>& stops : flow.paths) {
        stops.front() = data.from;
        stops.back() = data.to;
    }
    return flow;
}

RankFlow direct(const RankBytes& data) {
    RankFlow flow{data.from, data.to, data.bytes, 0, {}};
    if (data.from != data.to) {
        flow.paths = {{data.from, data.to}};
    }
    return flow;
}

}  // namespace

std::vector<RankFlow> direct_between_ranks(std::span<const RankBytes> data) {
    std::vector<RankFlow> flows;
    for (const RankBytes& one : data) {
        flows.push_back(direct(one));
    }
    return flows;
}

RankPlan plan_between_ranks(const Topology& topology, std::span<const RankBytes> data, int ranks,
                            const RankPlanOptions& options) {
    std::map<Hosts, std::size_t> position;
    std::vector<Flow> flows;
    std::vector<std::size_t> bytes;
    const auto hosts_of = [&](const RankBytes& one) {
        return Hosts{host_of(topology, one.from), host_of(topology, one.to)};
    };
    for (const RankBytes& one : data) {
        const Hosts hosts = hosts_of(one);
        if (hosts.first == hosts.second) {
            continue;
        }
        const auto [entry, added] = position.try_emplace(hosts, flows.size());
        if (added) {
            flows.push_back({hosts.first, hosts.second, 0});
            bytes.push_back(0);
        }
        flows[entry->second].bytes += static_cast<double>(one.bytes);
        bytes[entry->second] += one.bytes;
    }
    const Plan plan = make_plan(topology, flows, options.limits, options.planner);
    const std::vector<RankFlow> between =
        rank_flows(topology, flows, plan, bytes, ranks, options.flow);
    RankPlan out{{}, plan.planner, plan.load_s, plan.direct_load_s};
    for (const RankBytes& one : data) {
        const auto entry = position.find(hosts_of(one));
        const bool paths = entry != position.end() && !between[entry->second].direct() &&
                           static_cast<double>(one.bytes) > direct_bytes;
        out.flows.push_back(paths ? with_ends(between[entry->second], one) : direct(one));
    }
    return out;
}

}  // namespace fluvial::route
