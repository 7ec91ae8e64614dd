// SPDX-License-Identifier: Apache-2.0
/// The planner that lets paths share links, and keeps the busiest ones as little busy as it can.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

#include "fluvial/base/hash.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/route/plan.hpp"

namespace fluvial::route {
namespace {

constexpr std::size_t parts_of_flow = 16;
constexpr std::size_t candidates_max = 512;
constexpr int passes_max = 4;
/// Longer paths load more links: of equals the shorter one is to win.
constexpr double cost_of_link = 1e-9;

class MinMaxPlanner {
  public:
    MinMaxPlanner(const Topology& topology, std::span<const Flow> flows, const Limits& limits)
        : topology_(topology),
          flows_(flows),
          limits_(limits),
          seconds_(topology.graph().links().size(), 0),
          forwarded_(static_cast<std::size_t>(topology.hosts()), 0) {}

    std::vector<std::vector<Path>> plan(double direct_load_s) {
        // Finite for the least loads, too.
        scale_ = 1 / std::max(direct_load_s, std::numeric_limits<double>::min());
        for (const Flow& flow : flows_) {
            const bool moves = flow.from != flow.to && flow.bytes > 0;
            candidates_.push_back(moves ? candidates_of(flow) : Candidates{});
            via_.emplace_back(parts_of_flow, moves ? not_yet : direct);
        }
        for (int pass = 0; pass < passes_max; ++pass) {
            bool moved = false;
            for (std::size_t part = 0; part < parts_of_flow; ++part) {
                for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
                    moved = (!candidates_[flow].proxies.empty() && place(flow, part)) || moved;
                }
            }
            if (!moved) {
                break;
            }
        }
        return result();
    }

  private:
    static constexpr Node direct = -1, not_yet = -2;

    /// The ways of a flow: direct, and by each proxy that it may have.
    struct Candidates {
        std::vector<Node> proxies;
        Route links;                     ///< of all ways, one behind the other
        std::vector<std::size_t> begin;  ///< by way; one more than there are

        std::span<const LinkId> way(std::size_t i) const {
            return {links.data() + begin[i], begin[i + 1] - begin[i]};
        }
        std::size_t of(Node proxy) const {
            return static_cast<std::size_t>(
                std::lower_bound(proxies.begin(), proxies.end(), proxy) - proxies.begin());
        }
    };

    /// Where a flow cannot look at all hosts, it looks at one drawn from each of as many ranges of
    /// them. A fixed stride would leave out whole hyperplanes of a torus.
    Candidates candidates_of(const Flow& flow) {
        Candidates out{{direct}, {}, {0}};
        topology_.append_route(flow.from, flow.to, out.links);
        out.begin.push_back(out.links.size());
        const auto hosts = static_cast<std::size_t>(topology_.hosts());
        const std::size_t ranges = std::min(hosts, candidates_max);
        for (std::size_t range = 0; range < ranges; ++range) {
            interrupt_.pass();
            const std::size_t begin = range * hosts / ranges, end = (range + 1) * hosts / ranges;
            const std::uint64_t key = static_cast<std::uint64_t>(flow.from) * ranges + range;
            const Node proxy = static_cast<Node>(
                begin + hash_of(std::as_bytes(std::span(&key, 1))) % (end - begin));
            if (proxy == flow.from || proxy == flow.to || limits_.proxies_per_path < 1 ||
                !topology_.passes_on(proxy)) {
                continue;
            }
            if (topology_.append_route(flow.from, proxy, out.links) &&
                topology_.append_route(proxy, flow.to, out.links)) {
                out.proxies.push_back(proxy);
                out.begin.push_back(out.links.size());
            } else {
                out.links.resize(out.begin.back());
            }
        }
        return out;
    }

    /// Seconds of one part on a link.
    double seconds_on(std::size_t flow, LinkId id) const {
        return flows_[flow].bytes / parts_of_flow / topology_.graph().link(id).bandwidth;
    }

    /// How much more the sum of the sixth powers of loads would be by way of a candidate: the
    /// busiest links decide it. What is above `least` is not computed to the end.
    double cost(std::size_t flow, std::span<const LinkId> way, double least) const {
        double sum = cost_of_link * static_cast<double>(way.size());
        for (const LinkId id : way) {
            const double load = seconds_[static_cast<std::size_t>(id)] * scale_;
            sum += sixth(load + seconds_on(flow, id) * scale_) - sixth(load);
            if (sum >= least) {
                break;
            }
        }
        return sum;
    }
    static double sixth(double x) { return x * x * x * x * x * x; }

    /// Adds a part to the links of its way, or takes it off.
    void put(std::size_t flow, std::span<const LinkId> way, double sign) {
        for (const LinkId id : way) {
            seconds_[static_cast<std::size_t>(id)] += sign * seconds_on(flow, id);
        }
    }

    bool may_use(const std::vector<Node>& used, bool one_more, Node proxy) const {
        return std::find(used.begin(), used.end(), proxy) != used.end() ||
               (one_more && (proxy == direct || forwarded_[static_cast<std::size_t>(proxy)] <
                                                    limits_.paths_per_proxy));
    }
    /// Whether a flow may have one more path.
    bool one_more(const std::vector<Node>& used) const {
        std::vector<Node> ways = used;
        std::sort(ways.begin(), ways.end());
        ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
        const std::size_t none = ways.front() == not_yet ? 1 : 0;
        return ways.size() - none < static_cast<std::size_t>(limits_.paths_per_flow);
    }

    /// A proxy forwards one path of a flow, however many parts go along it.
    void note(std::size_t flow, std::size_t part, Node proxy) {
        auto& used = via_[flow];
        const Node before = used[part];
        used[part] = not_yet;
        if (before >= 0 && std::find(used.begin(), used.end(), before) == used.end()) {
            --forwarded_[static_cast<std::size_t>(before)];
        }
        if (proxy >= 0 && std::find(used.begin(), used.end(), proxy) == used.end()) {
            ++forwarded_[static_cast<std::size_t>(proxy)];
        }
        used[part] = proxy;
    }

    /// Moves a part to where it costs least; true where that is another way than before.
    bool place(std::size_t flow, std::size_t part) {
        const Candidates& candidates = candidates_[flow];
        auto& used = via_[flow];
        const Node before = used[part];
        if (before != not_yet) {
            put(flow, candidates.way(candidates.of(before)), -1);
        }
        note(flow, part, not_yet);
        const bool more = one_more(used);
        // The first one that it may use, if costs are beyond numbers and none is less than another.
        const std::size_t none = candidates.proxies.size();
        std::size_t best = none;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < candidates.proxies.size(); ++i) {
            interrupt_.pass();
            const double here = cost(flow, candidates.way(i), least);
            if ((here < least || best == none) && may_use(used, more, candidates.proxies[i])) {
                least = here;
                best = i;
            }
        }
        put(flow, candidates.way(best), 1);
        note(flow, part, candidates.proxies[best]);
        return candidates.proxies[best] != before;
    }

    std::vector<std::vector<Path>> result() const {
        std::vector<std::vector<Path>> out(flows_.size());
        for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
            const auto [from, to, bytes] = flows_[flow];
            std::vector<Node> ways = via_[flow];
            std::sort(ways.begin(), ways.end());
            for (std::size_t i = 0; from != to && i < ways.size();) {
                const auto end = std::upper_bound(ways.begin(), ways.end(), ways[i]);
                const auto next = static_cast<std::size_t>(end - ways.begin());
                out[flow].push_back(path_along(
                    topology_, ways[i] == direct ? std::vector<Node>{from, to}
                                                 : std::vector<Node>{from, ways[i], to}));
                out[flow].back().share = static_cast<double>(next - i) / parts_of_flow;
                i = next;
            }
        }
        return out;
    }

    const Topology& topology_;
    std::span<const Flow> flows_;
    const Limits& limits_;
    std::vector<double> seconds_;         ///< by link
    std::vector<int> forwarded_;          ///< by host
    std::vector<std::vector<Node>> via_;  ///< the proxy of each part of each flow
    std::vector<Candidates> candidates_;
    double scale_ = 0;
    InterruptPoints interrupt_;
};

}  // namespace

Plan plan_min_max(const Topology& topology, std::span<const Flow> flows, const Limits& limits) {
    Plan plan;
    plan.planner = "min-max";
    plan.direct_load_s = plan_direct(topology, flows).load_s;
    plan.paths = MinMaxPlanner(topology, flows, limits).plan(plan.direct_load_s);
    plan.load_s = load_of(topology, flows, plan.paths);
    return plan;
}

}  // namespace fluvial::route
