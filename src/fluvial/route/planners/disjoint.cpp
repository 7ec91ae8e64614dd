// SPDX-License-Identifier: Apache-2.0
/// The planner that gives paths links of their own.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "fluvial/route/max_flow.hpp"
#include "fluvial/route/plan.hpp"
#include "fluvial/route/planners/chain_search.hpp"

namespace fluvial::route {
namespace {

/// Candidates that are tried in place of a path, before a flow is content with what it has.
constexpr std::size_t exchanges_max = 64;
/// The same where a slow flow takes a path over from another one; how many flows may hand a path
/// on, one to the next.
constexpr std::size_t taken_over_max = 16;
constexpr int handed_on_max = 3;
/// Searches for this: for one path, and for each flow of the plan, as they fail again and again
/// where all flows are equally slow.
constexpr std::size_t searches_of_path_max = 50, searches_of_flow_max = 16;

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
        help_the_slowest(settled);
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

    /// The time of the plan is that of its slowest flows: as long as others can give them a path
    /// and are still faster than they were, they do.
    void help_the_slowest(const std::vector<bool>& settled) {
        std::size_t left = searches_of_flow_max * flows_.size();
        for (bool helped = true; helped;) {
            helped = false;
            double most = 0;
            for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
                most = std::max(most, can_be_helped(flow, settled) ? bytes_of_a_path(flow) : 0);
            }
            for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
                if (can_be_helped(flow, settled) && bytes_of_a_path(flow) >= most) {
                    const std::size_t given = std::min(left, searches_of_path_max);
                    searches_left_ = given;
                    helped = take_over(flow, most, handed_on_max, settled) || helped;
                    left -= given - searches_left_;
                }
            }
        }
    }
    bool can_be_helped(std::size_t flow, const std::vector<bool>& settled) const {
        return !settled[flow] && !of_flow_[flow].empty();
    }
    /// What one of its paths carries.
    double bytes_of_a_path(std::size_t flow) const {
        const double paths = static_cast<double>(of_flow_[flow].size());
        return std::max(flows_[flow].bytes, 1.0) / paths;
    }

    /// One path more for a flow, at the cost of others whose paths still carry less than `most`
    /// bytes. False, and nothing is changed, where there is none.
    bool take_over(std::size_t flow, double most, int handed_on, const std::vector<bool>& settled) {
        const auto [from, to, bytes] = flows_[flow];
        const auto most_paths = static_cast<std::size_t>(limits_.paths_per_flow);
        if (of_flow_[flow].size() >= most_paths || searches_left_ == 0) {
            return false;
        }
        --searches_left_;
        const auto out = topology_.graph().out(from), in = topology_.graph().in(to);
        if (any_free(out) && any_free(in)) {
            if (auto path = search_.shortest(from, to)) {
                add(flow, std::move(*path));
                return true;
            }
        }
        const std::function<bool(int)> may_take = [&](int owner) {
            const std::size_t other = flow_of_[static_cast<std::size_t>(owner)];
            return other != flow && !settled[other] && of_flow_[other].size() > 1;
        };
        const auto may_have = [&](LinkId id) {
            const int owner = occupancy_.owner(id);
            return owner == Occupancy::nobody || may_take(owner);
        };
        if (handed_on == 0 || std::ranges::none_of(out, may_have) ||
            std::ranges::none_of(in, may_have)) {
            return false;
        }
        const auto candidates = search_.taking_from_one(from, to, taken_over_max, may_take);
        for (const Candidate& candidate : candidates) {
            const int number = candidate.owner;
            if (number == Occupancy::nobody) {
                continue;
            }
            const std::size_t other = flow_of_[static_cast<std::size_t>(number)];
            const Path before = paths_[static_cast<std::size_t>(number)];
            hand(number, flow, candidate.path);
            if (bytes_of_a_path(other) < most || take_over(other, most, handed_on - 1, settled)) {
                return true;
            }
            hand(number, other, before);
        }
        return false;
    }
    /// A path becomes another one, of another flow.
    void hand(int number, std::size_t flow, const Path& path) {
        const auto at = static_cast<std::size_t>(number);
        std::erase(of_flow_[flow_of_[at]], number);
        occupancy_.take_back(paths_[at]);
        occupancy_.give(path, number);
        paths_[at] = path;
        flow_of_[at] = flow;
        of_flow_[flow].push_back(number);
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
    std::size_t searches_left_ = 0;
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
