// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::route {
namespace {

constexpr double simpler_within = 1.01;

void check_limit(const char* name, int value, int least, int most) {
    if (value < least || value > most) {
        throw InvalidArgument(
            Problem{text(name, " is out of range"), text(value), text(least, " to ", most), ""});
    }
}

void check(const Topology& topology, std::span<const Flow> flows, const Limits& limits) {
    check_limit("proxies_per_path", limits.proxies_per_path, 0, 2);
    check_limit("paths_per_flow", limits.paths_per_flow, 1, 1024);
    check_limit("paths_per_proxy", limits.paths_per_proxy, 0, 1 << 20);
    for (const Flow& flow : flows) {
        topology.check_host(flow.from, "the host where a flow begins");
        topology.check_host(flow.to, "the host where a flow ends");
        if (!(flow.bytes >= 0) || !std::isfinite(flow.bytes)) {
            throw InvalidArgument(
                Problem{"the bytes of a flow are out of range", text(flow.bytes), "0 or more", ""});
        }
    }
}

}  // namespace

double load_of(const Topology& topology, std::span<const Flow> flows,
               const std::vector<std::vector<Path>>& paths) {
    std::vector<double> seconds(topology.graph().links().size(), 0);
    double most = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        for (const Path& path : paths[i]) {
            for (const LinkId id : path.links) {
                double& load = seconds[static_cast<std::size_t>(id)];
                load += path.share * flows[i].bytes / topology.graph().link(id).bandwidth;
                most = std::max(most, load);
            }
        }
    }
    return most;
}

Plan plan_direct(const Topology& topology, std::span<const Flow> flows) {
    Plan plan;
    plan.planner = "direct";
    for (const Flow& flow : flows) {
        plan.paths.emplace_back();
        if (flow.from != flow.to) {
            plan.paths.back().push_back(path_along(topology, {flow.from, flow.to}));
        }
    }
    plan.load_s = plan.direct_load_s = load_of(topology, flows, plan.paths);
    return plan;
}

Plan make_plan(const Topology& topology, std::span<const Flow> flows, const Limits& limits,
               std::string_view planner) {
    check(topology, flows, limits);
    Plan best = plan_direct(topology, flows);
    if (planner == "direct") {
        return best;
    }
    if (planner == "disjoint") {
        return plan_disjoint(topology, flows, limits);
    }
    if (planner == "min-max") {
        return plan_min_max(topology, flows, limits);
    }
    if (planner != "best") {
        static const std::array<std::string, 4> known{"best", "direct", "disjoint", "min-max"};
        throw UnknownName(Problem{"no planner of this name", "'" + shortened(planner) + "'",
                                  "best, direct, disjoint, min-max", did_you_mean(planner, known)});
    }
    for (Plan& plan : std::array{plan_disjoint(topology, flows, limits),
                                 plan_min_max(topology, flows, limits)}) {
        if (plan.load_s * simpler_within < best.load_s) {
            best = std::move(plan);
        }
    }
    return best;
}

Plan change_plan(const Topology& topology, std::span<const Flow> flows, const Limits& limits,
                 std::span<const Flow> flows_before, const Plan& plan, std::string_view planner) {
    check(topology, flows, limits);
    check(topology, flows_before, limits);
    if (plan.paths.size() != flows_before.size()) {
        throw InvalidArgument(Problem{"the plan to change is of other flows",
                                      counted(plan.paths.size(), "flow"), text(flows_before.size()),
                                      ""});
    }
    if (plan.planner != "disjoint" || (planner != "best" && planner != "disjoint")) {
        return make_plan(topology, flows, limits, planner);
    }
    Plan changed = plan_disjoint(topology, flows, limits, flows_before, &plan);
    const bool pays = changed.load_s * simpler_within < changed.direct_load_s;
    return pays || planner != "best" ? changed : make_plan(topology, flows, limits, planner);
}

}  // namespace fluvial::route
