// SPDX-License-Identifier: Apache-2.0
/// The planner that gives paths links of their own.
#include <algorithm>
#include <map>
#include <tuple>

#include "fluvial/route/max_flow.hpp"
#include "fluvial/route/plan.hpp"
#include "fluvial/route/planners/chain_search.hpp"

namespace fluvial::route {
namespace {

/// Candidates that are tried in place of a path, before a flow is content with what it has.
constexpr std::size_t exchanges_max = 64;

class DisjointPlanner {
  public:
    DisjointPlanner(const Topology& topology, std::span<const Flow> flows, const Limits& limits)
        : topology_(topology),
          flows_(flows),
          limits_(limits),
          occupancy_(topology),
          search_(topology, limits, occupancy_),
          of_flow_(flows.size()) {}

    /// Paths that a flow has had before.
    void keep(std::size_t flow, const std::vector<Path>& paths) {
        for (const Path& path : paths) {
            const bool free = std::all_of(path.links.begin(), path.links.end(), [&](LinkId id) {
                return occupancy_.owner(id) == Occupancy::nobody;
            });
            if (free) {
                add(flow, path);
            }
        }
    }

    std::vector<std::vector<Path>> plan(const std::vector<bool>& settled) {
        std::vector<std::size_t> open;
        for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
            if (flows_[flow].from != flows_[flow].to && !settled[flow]) {
                open.push_back(flow);
            }
        }
        while (!open.empty()) {
            // The flow with the fewest comes first, since rounds end when links do.
            std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
                return of_flow_[a].size() < of_flow_[b].size();
            });
            std::erase_if(open, [&](std::size_t flow) { return !find_one_more(flow); });
        }
        return result();
    }

  private:
    bool find_one_more(std::size_t flow) {
        if (of_flow_[flow].size() >= static_cast<std::size_t>(limits_.paths_per_flow)) {
            return false;
        }
        const auto [from, to, bytes] = flows_[flow];
        if (!any_free(topology_.graph().out(from)) || !any_free(topology_.graph().in(to))) {
            return false;
        }
        if (auto path = search_.shortest(from, to)) {
            add(flow, std::move(*path));
            return true;
        }
        return below_bound(flow) && exchange(flow);
    }
    bool any_free(std::span<const LinkId> links) const {
        return std::any_of(links.begin(), links.end(),
                           [&](LinkId id) { return occupancy_.owner(id) == Occupancy::nobody; });
    }

    /// Whether the links that other flows leave would carry more paths of this one.
    bool below_bound(std::size_t flow) const {
        std::vector<Arc> arcs;
        for (std::size_t i = 0; i < topology_.graph().links().size(); ++i) {
            const int owner = occupancy_.owner(static_cast<LinkId>(i));
            if (owner == Occupancy::nobody || is_of(owner, flow)) {
                const Link& link = topology_.graph().links()[i];
                arcs.push_back({link.from, link.to, 1});
            }
        }
        const Node from[] = {flows_[flow].from}, to[] = {flows_[flow].to};
        const double bound = max_flow(topology_.graph().nodes(), arcs, from, to).value;
        return static_cast<double>(of_flow_[flow].size()) < bound;
    }

    /// One path of the flow for two others.
    bool exchange(std::size_t flow) {
        const auto [from, to, bytes] = flows_[flow];
        const auto candidates = search_.taking_from_one(
            from, to, exchanges_max, [&](int owner) { return is_of(owner, flow); });
        for (const Candidate& candidate : candidates) {
            if (candidate.owner == Occupancy::nobody) {
                continue;
            }
            const auto replaced = static_cast<std::size_t>(candidate.owner);
            const Path before = paths_[replaced];
            occupancy_.take_back(before);
            paths_[replaced] = candidate.path;
            occupancy_.give(candidate.path, candidate.owner);
            if (auto another = search_.shortest(from, to)) {
                add(flow, std::move(*another));
                return true;
            }
            occupancy_.take_back(candidate.path);
            paths_[replaced] = before;
            occupancy_.give(before, candidate.owner);
        }
        return false;
    }

    bool is_of(int owner, std::size_t flow) const {
        return flow_of_[static_cast<std::size_t>(owner)] == flow;
    }
    void add(std::size_t flow, Path path) {
        const int number = static_cast<int>(paths_.size());
        occupancy_.give(path, number);
        paths_.push_back(std::move(path));
        flow_of_.push_back(flow);
        of_flow_[flow].push_back(number);
    }

    /// Shares in proportion to what each path can carry, so that all are done at the same time.
    std::vector<std::vector<Path>> result() const {
        std::vector<std::vector<Path>> out(flows_.size());
        for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
            double bandwidth = 0;
            for (const int number : of_flow_[flow]) {
                out[flow].push_back(paths_[static_cast<std::size_t>(number)]);
                bandwidth += topology_.graph().bandwidth(out[flow].back().links);
            }
            for (Path& path : out[flow]) {
                path.share = topology_.graph().bandwidth(path.links) / bandwidth;
            }
            if (out[flow].empty() && flows_[flow].from != flows_[flow].to) {
                out[flow].push_back(path_along(topology_, {flows_[flow].from, flows_[flow].to}));
            }
        }
        return out;
    }

    const Topology& topology_;
    std::span<const Flow> flows_;
    const Limits& limits_;
    Occupancy occupancy_;
    ChainSearch search_;
    std::vector<Path> paths_;
    std::vector<std::size_t> flow_of_;       ///< by path
    std::vector<std::vector<int>> of_flow_;  ///< numbers of paths
};

}  // namespace

Plan plan_disjoint(const Topology& topology, std::span<const Flow> flows, const Limits& limits,
                   std::span<const Flow> kept_flows, const Plan* kept) {
    DisjointPlanner planner(topology, flows, limits);
    std::multimap<std::pair<Node, Node>, std::size_t> before;
    for (std::size_t i = 0; kept != nullptr && i < kept_flows.size(); ++i) {
        before.emplace(std::pair{kept_flows[i].from, kept_flows[i].to}, i);
    }
    std::vector<bool> settled(flows.size(), false);
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
        const auto found = before.find({flows[flow].from, flows[flow].to});
        if (found != before.end()) {
            planner.keep(flow, kept->paths[found->second]);
            settled[flow] = true;
            before.erase(found);
        }
    }
    Plan plan;
    plan.planner = "disjoint";
    plan.paths = planner.plan(settled);
    plan.load_s = load_of(topology, flows, plan.paths);
    plan.direct_load_s = plan_direct(topology, flows).load_s;
    return plan;
}

}  // namespace fluvial::route
