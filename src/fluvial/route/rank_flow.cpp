// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/rank_flow.hpp"

#include <algorithm>
#include <optional>

#include "fluvial/base/error.hpp"

namespace fluvial::route {
namespace {

constexpr int nobody = -1;

/// None where a host has no rank.
std::optional<std::vector<int>> ranks_at(const std::vector<int>& first,
                                         const std::vector<Node>& stops) {
    std::vector<int> ranks;
    for (const Node stop : stops) {
        ranks.push_back(first[static_cast<std::size_t>(stop)]);
    }
    if (std::find(ranks.begin(), ranks.end(), nobody) != ranks.end()) {
        return std::nullopt;
    }
    return ranks;
}

}  // namespace

std::vector<int> first_ranks(const Topology& topology, int ranks) {
    std::vector<int> first(static_cast<std::size_t>(topology.hosts()), nobody);
    const std::vector<Node>& host_of = topology.host_of_rank();
    const int known = static_cast<int>(std::min<std::size_t>(host_of.size(), 1 << 30));
    for (int rank = std::min(ranks, known); rank-- > 0;) {
        first[static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)])] = rank;
    }
    return first;
}

std::vector<RankFlow> rank_flows(const Topology& topology, std::span<const Flow> flows,
                                 const Plan& plan, std::span<const std::size_t> bytes, int ranks,
                                 const RankFlowOptions& options) {
    const std::vector<int> first = first_ranks(topology, ranks);
    const Model model(topology, flows, plan, options.costs);
    std::vector<RankFlow> out;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const auto ends = ranks_at(first, {flows[i].from, flows[i].to});
        if (!ends) {
            throw InvalidArgument(Problem{
                "a flow begins or ends at a host without ranks",
                text(topology.name_of(flows[i].from), " to ", topology.name_of(flows[i].to)),
                text("hosts of the job's ", ranks, " ranks"),
                "Start the job on these hosts, or say where its ranks are"});
        }
        RankFlow flow{(*ends)[0], (*ends)[1], bytes[i], 0, {}};
        const auto size = static_cast<double>(bytes[i]);
        const Prediction found =
            options.paths == 0 ? model.best(i, size) : model.with_paths(i, size, options.paths);
        std::vector<const Path*> paths;
        for (const Path& path : plan.paths[i]) {
            paths.push_back(&path);
        }
        std::stable_sort(paths.begin(), paths.end(),
                         [](const Path* a, const Path* b) { return a->proxies() < b->proxies(); });
        for (const Path* const path : paths) {
            const auto along = ranks_at(first, path->stops);
            if (!found.direct && along && flow.paths.size() < found.paths) {
                flow.paths.push_back(*along);
            }
        }
        const bool proxied = std::any_of(flow.paths.begin(), flow.paths.end(),
                                         [](const auto& path) { return path.size() > 2; });
        if (proxied) {
            flow.window_bytes = options.window_bytes != 0
                                    ? options.window_bytes
                                    : static_cast<std::size_t>(found.window_bytes);
        } else if (flow.from != flow.to) {
            flow.paths = {*ends};
        }
        out.push_back(std::move(flow));
    }
    return out;
}

}  // namespace fluvial::route
