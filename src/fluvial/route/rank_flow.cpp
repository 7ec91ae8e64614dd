// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/rank_flow.hpp"

#include <algorithm>
#include <optional>

#include "fluvial/base/error.hpp"

namespace fluvial::route {
namespace {

constexpr int nobody = -1;

/// Which rank stands for each host.
struct RanksOfHosts {
    RanksOfHosts(const Topology& topology, int ranks, const std::vector<int>& helpers)
        : end(static_cast<std::size_t>(topology.hosts()), nobody),
          proxy(end),
          any_help(!helpers.empty()) {
        const std::vector<Node>& host_of = topology.host_of_rank();
        const int known = static_cast<int>(std::min<std::size_t>(host_of.size(), 1 << 30));
        std::vector<int> helper = end;
        for (int rank = std::min(ranks, known); rank-- > 0;) {
            const auto host = static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)]);
            const bool helps = std::find(helpers.begin(), helpers.end(), rank) != helpers.end();
            (helps ? helper : end)[host] = rank;
        }
        for (std::size_t host = 0; host < end.size(); ++host) {
            proxy[host] = helper[host] != nobody ? helper[host] : end[host];
        }
    }

    /// None where a host has no rank.
    std::optional<std::vector<int>> along(const std::vector<Node>& stops) const {
        std::vector<int> ranks;
        for (std::size_t i = 0; i < stops.size(); ++i) {
            const bool is_end = i == 0 || i + 1 == stops.size();
            ranks.push_back((is_end ? end : proxy)[static_cast<std::size_t>(stops[i])]);
        }
        if (std::find(ranks.begin(), ranks.end(), nobody) != ranks.end()) {
            return std::nullopt;
        }
        return ranks;
    }

    std::vector<int> end, proxy;
    bool any_help;
};

std::pair<int, int> ends_of(const Topology& topology, const Flow& flow, int ranks,
                            const RanksOfHosts& hosts) {
    const auto ends = hosts.along({flow.from, flow.to});
    if (!ends) {
        throw InvalidArgument(Problem{
            "a flow begins or ends at a host without ranks",
            text(topology.name_of(flow.from), " to ", topology.name_of(flow.to)),
            text("hosts of the job's ", ranks, " ranks", hosts.any_help ? " that do not help" : ""),
            "Start the job on these hosts, or say where its ranks are"});
    }
    return {(*ends)[0], (*ends)[1]};
}

}  // namespace

std::vector<int> first_ranks(const Topology& topology, int ranks) {
    return RanksOfHosts(topology, ranks, {}).end;
}

std::vector<std::pair<int, int>> ends_of_flows(const Topology& topology,
                                               std::span<const Flow> flows, int ranks,
                                               const std::vector<int>& helpers) {
    const RanksOfHosts hosts(topology, ranks, helpers);
    std::vector<std::pair<int, int>> ends;
    for (const Flow& flow : flows) {
        ends.push_back(ends_of(topology, flow, ranks, hosts));
    }
    return ends;
}

std::vector<RankFlow> rank_flows(const Topology& topology, std::span<const Flow> flows,
                                 const Plan& plan, std::span<const std::size_t> bytes, int ranks,
                                 const RankFlowOptions& options) {
    const RanksOfHosts hosts(topology, ranks, options.helpers);
    const Model model(topology, flows, plan, options.costs);
    std::vector<RankFlow> out;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const auto [from, to] = ends_of(topology, flows[i], ranks, hosts);
        RankFlow flow{from, to, bytes[i], 0, {}};
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
            const auto along = hosts.along(path->stops);
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
            flow.paths = {{from, to}};
        }
        out.push_back(std::move(flow));
    }
    return out;
}

}  // namespace fluvial::route
