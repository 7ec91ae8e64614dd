// SPDX-License-Identifier: Apache-2.0
/// Plans as Python holds them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bound_topology.hpp"
#include "compute.hpp"
#include "fluvial/move/planned_exchange.hpp"
#include "fluvial/route/model.hpp"
#include "fluvial/route/topology.hpp"
#include "route.hpp"

namespace fluvial::python {

using route::Flow;
using route::Limits;
using route::Model;
using route::Path;
using route::Plan;
using route::Prediction;
using route::Topology;
using route::TopologyPtr;

inline TopologyPtr topology_or_none(nb::handle topology) {
    return topology.is_none() ? nullptr : nb::cast<BoundTopology&>(topology).held;
}

inline move::Displaced displaced_if(bool strict) {
    return strict ? move::Displaced::Throw : move::Displaced::GoDirect;
}

/// How a transfer goes: (paths, window, costs, seconds without movement, seconds until another
/// path, checksum, strict), as `to_transfer` in exchanging.py returns it.
inline void read_transfer(nb::handle said, route::RankFlowOptions& flow, move::ExchangeOptions& how,
                          move::Displaced& displaced) {
    const auto all = nb::cast<nb::tuple>(said);
    flow = {nb::cast<std::size_t>(all[0]), nb::cast<std::size_t>(all[1]),
            route::costs_named(nb::cast<std::string>(all[2]))};
    how.stall_timeout_s = nb::cast<double>(all[3]);
    how.reroute_after_s = nb::cast<double>(all[4]);
    how.checksum = nb::cast<bool>(all[5]);
    displaced = displaced_if(nb::cast<bool>(all[6]));
}

/// (stops, nodes on the way, share).
inline nb::tuple to_tuple(const Topology& topology, const Path& path) {
    nb::list nodes;
    nodes.append(path.stops.front());
    for (const route::LinkId id : path.links) {
        nodes.append(topology.graph().link(id).to);
    }
    return nb::make_tuple(nb::tuple(nb::cast(path.stops)), nb::tuple(nodes), path.share);
}

/// A plan, its flows, and what they move through.
class Planned {
  public:
    /// `asked`: the planner that was asked for, "best" perhaps.
    Planned(TopologyPtr topology, std::vector<Flow> flows, const Limits& limits, std::string asked,
            Plan plan)
        : topology_(std::move(topology)),
          flows_(std::move(flows)),
          limits_(limits),
          asked_(std::move(asked)),
          plan_(std::move(plan)) {}

    const std::string& planner() const { return plan_.planner; }
    double load_s() const { return plan_.load_s; }
    double direct_load_s() const { return plan_.direct_load_s; }
    nb::list paths(std::size_t flow) const {
        nb::list out;
        for (const Path& path : plan_.paths[flow]) {
            out.append(to_tuple(*topology_, path));
        }
        return out;
    }
    nb::tuple predict(std::size_t flow, double bytes, std::size_t paths, const std::string& costs) {
        const Model model(*topology_, flows_, plan_, route::costs_named(costs));
        const Prediction found =
            paths == 0 ? model.best(flow, bytes) : model.with_paths(flow, bytes, paths);
        return nb::make_tuple(bytes, found.paths, found.window_bytes, found.direct, found.seconds,
                              found.direct_seconds);
    }
    std::vector<move::Outgoing> to_outgoing(const nb::dict& data) const {
        std::vector<move::Outgoing> outgoing(flows_.size());
        for (const auto& [flow, bytes] : data) {
            const auto array = nb::cast<Bytes>(bytes);
            const auto* const begin = reinterpret_cast<const std::byte*>(array.data());
            outgoing.at(nb::cast<std::size_t>(flow)) = {{begin, array.size()},
                                                        share(nb::borrow(bytes))};
        }
        return outgoing;
    }
    /// What this rank says of an exchange of `data`. The plan outlives it.
    move::PlannedCall call(const nb::dict& data) const {
        if (!words_) {
            words_ = move::words_of(*topology_, flows_, plan_);
        }
        move::PlannedCall call{topology_.get(), flows_, &plan_, to_outgoing(data)};
        call.words = &*words_;
        return call;
    }
    Planned changed(std::vector<Flow> flows) const {
        const nb::gil_scoped_release release;
        Plan plan = route::change_plan(*topology_, flows, limits_, flows_, plan_, asked_);
        return {topology_, std::move(flows), limits_, asked_, std::move(plan)};
    }

  private:
    TopologyPtr topology_;
    std::vector<Flow> flows_;
    Limits limits_;
    std::string asked_;
    Plan plan_;
    mutable std::optional<move::PlanWords> words_;  ///< under the GIL
};

}  // namespace fluvial::python
