// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::route {
namespace {

/// Bytes that links are asked for, by all paths of all flows; a flow without bytes counts as one
/// byte, so that what it would get is known.
class Demand {
  public:
    Demand(const Topology& topology, std::span<const Flow> flows,
           const std::vector<std::vector<Path>>& paths)
        : graph_(topology.graph()), flows_(flows), bytes_(graph_.links().size(), 0) {
        for (std::size_t flow = 0; flow < flows.size(); ++flow) {
            for (const Path& path : paths[flow]) {
                for (const LinkId id : path.links) {
                    bytes_[static_cast<std::size_t>(id)] += asked(flow, path);
                }
            }
        }
    }
    /// Bytes per second that a path gets, its part of the link on its way that gives it least.
    double bandwidth(std::size_t flow, const Path& path) const {
        double seconds = 0;
        for (const LinkId id : path.links) {
            seconds =
                std::max(seconds, bytes_[static_cast<std::size_t>(id)] / graph_.link(id).bandwidth);
        }
        return asked(flow, path) / seconds;
    }

  private:
    double asked(std::size_t flow, const Path& path) const {
        return path.share * std::max(flows_[flow].bytes, 1.0);
    }

    const Graph& graph_;
    std::span<const Flow> flows_;
    std::vector<double> bytes_;
};

}  // namespace

Costs costs_named(std::string_view name) {
    if (name == "mpi") {
        return mpi_like;
    }
    if (name == "pami") {
        return pami_like;
    }
    if (name == "tcp") {
        return tcp_like;
    }
    static const std::array<std::string, 3> known{"mpi", "pami", "tcp"};
    throw UnknownName(Problem{"no costs of this name", "'" + shortened(name) + "'",
                              "mpi, pami, tcp", did_you_mean(name, known)});
}

Model::Model(const Topology& topology, std::span<const Flow> flows, const Plan& plan,
             const Costs& costs)
    : costs_(costs), ways_(flows.size()) {
    if (plan.load_s * gain_min <= plan.direct_load_s) {
        for (const Flow& flow : flows) {
            direct_load_s_.push_back(flow.bytes > 0 ? plan.direct_load_s / flow.bytes : 0);
        }
    }
    const Plan direct = plan_direct(topology, flows);
    const Demand planned(topology, flows, plan.paths), unplanned(topology, flows, direct.paths);
    const auto way_of = [&](const Demand& demand, std::size_t flow, const Path& path) {
        const double alone = topology.graph().bandwidth(path.links);
        return Way{demand.bandwidth(flow, path), alone, topology.graph().latency(path.links),
                   path.proxies()};
    };
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
        const bool moves = !direct.paths[flow].empty();
        direct_.push_back(moves ? way_of(unplanned, flow, direct.paths[flow][0])
                                : Way{HUGE_VAL, HUGE_VAL, 0, 0});
        for (const Path& path : plan.paths[flow]) {
            ways_[flow].push_back(way_of(planned, flow, path));
        }
        std::stable_sort(ways_[flow].begin(), ways_[flow].end(),
                         [](const Way& a, const Way& b) { return a.proxies < b.proxies; });
    }
}

double Model::direct(std::size_t flow, double bytes) const {
    const Way& way = direct_[flow];
    return 2 * costs_.send_s + way.latency + bytes / way.bandwidth;
}

double Model::seconds(std::size_t flow, double bytes, std::size_t paths,
                      double window_bytes) const {
    double windows_per_s = 0, fill = 0;
    for (std::size_t i = 0; i < paths; ++i) {
        const Way& way = ways_[flow][i];
        const double of_window = window_bytes / way.bandwidth + costs_.window_s;
        windows_per_s += 1 / of_window;
        // Nothing keeps the first windows waiting where paths share a link.
        const double of_first = window_bytes / way.bandwidth_alone + costs_.window_s;
        fill = std::max(fill, static_cast<double>(way.proxies) * of_first + way.latency);
    }
    const double windows = std::ceil(bytes / window_bytes);
    return 2 * costs_.send_s + static_cast<double>(paths) * costs_.path_s + fill +
           std::max(windows / windows_per_s, windows * costs_.send_s);
}

Prediction Model::with_paths(std::size_t flow, double bytes, std::size_t paths) const {
    if (ways_[flow].empty()) {
        return best(flow, bytes);
    }
    Prediction found;
    found.direct = false;
    found.paths = std::clamp<std::size_t>(paths, 1, ways_[flow].size());
    found.direct_seconds = direct(flow, bytes);
    found.seconds = HUGE_VAL;
    for (double window = window_bytes_min; window <= window_bytes_max; window *= 2) {
        found.seconds = std::min(found.seconds, seconds(flow, bytes, found.paths, window));
    }
    // The largest of those that are as good: fewer messages.
    const double most = found.seconds * as_good;
    for (double window = window_bytes_min; window <= window_bytes_max; window *= 2) {
        const double here = seconds(flow, bytes, found.paths, window);
        if (here <= most) {
            found.seconds = here;
            found.window_bytes = window;
        }
    }
    return found;
}

bool Model::others_rely_on(std::size_t flow, double bytes, const Prediction& planned) const {
    return !direct_load_s_.empty() && planned.seconds <= direct_load_s_[flow] * bytes;
}

Prediction Model::best(std::size_t flow, double bytes) const {
    Prediction found;
    found.window_bytes = bytes;
    found.seconds = found.direct_seconds = direct(flow, bytes);
    for (std::size_t paths = 1; bytes > direct_bytes && paths <= ways_[flow].size(); ++paths) {
        const Prediction here = with_paths(flow, bytes, paths);
        if (here.seconds < found.seconds && here.speed_up() >= gain_min) {
            found = here;
        }
    }
    const bool proxied = !ways_[flow].empty() && ways_[flow].back().proxies > 0;
    if (found.direct && bytes > direct_bytes && proxied) {
        const Prediction planned = with_paths(flow, bytes, ways_[flow].size());
        return others_rely_on(flow, bytes, planned) ? planned : found;
    }
    return found;
}

}  // namespace fluvial::route
