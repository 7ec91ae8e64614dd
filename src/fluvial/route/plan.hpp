// SPDX-License-Identifier: Apache-2.0
/// Which flow takes which paths. Flows that move at the same time are planned together: 64 random
/// pairs on the torus of 512 hosts reach 9 times what direct routes reach, and 3.5 times where each
/// is planned by itself. All of it is local, and the same on all ranks that are given the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/route/path.hpp"

namespace fluvial::route {

/// Data that moves from one host to another.
struct Flow {
    Node from = 0, to = 0;
    double bytes = 1;

    friend bool operator==(const Flow&, const Flow&) = default;
};

struct Limits {
    int proxies_per_path = 2;  ///< 0 to 2
    int paths_per_flow = 16;   ///< 1 or more
    int paths_per_proxy = 8;   ///< that one host forwards for all flows together, 0 or more
};

struct Plan {
    /// Of each flow: one or more, whose shares add up to 1; none from a host to itself.
    std::vector<std::vector<Path>> paths;
    std::string planner;  ///< that made it: "direct", "disjoint" or "min-max"
    /// Seconds in which the busiest link carries what is planned for it: large transfers take
    /// hardly more.
    double load_s = 0;
    double direct_load_s = 0;  ///< the same for direct routes

    /// How many times as fast as direct routes large messages are.
    double speed_up() const { return load_s > 0 ? direct_load_s / load_s : 1; }
};

/// Each flow by the route that the network has for it.
Plan plan_direct(const Topology& topology, std::span<const Flow> flows);

/// Paths of which no two share a link, in rounds: each flow gets one path more in a round, so that
/// short and long ones are spread alike over the sources (Bui et al. 2016, Algorithm 1, balanced).
/// Candidates are chains of whole routes, the fewest links first. A flow that finds no path of its
/// own goes direct, and shares links. Where a flow has fewer paths than a maximum flow, one of them
/// is exchanged for others as long as that helps. At the end the slowest flow takes paths over from
/// others, as long as these stay faster than it was. Flows that are also in `kept`, with their
/// paths, keep these; the others are planned around them.
Plan plan_disjoint(const Topology& topology, std::span<const Flow> flows, const Limits& limits = {},
                   std::span<const Flow> kept_flows = {}, const Plan* kept = nullptr);

/// Each flow in sixteenths, one after the other where it raises the load of the busiest links
/// least, and again from the first until nothing moves. Candidates: the direct route, and by way of
/// each other host (512 of them at most). Paths share links: best where many flows want one link.
Plan plan_min_max(const Topology& topology, std::span<const Flow> flows, const Limits& limits = {});

/// The plan with the lowest load of these three; the simpler one where they differ by less than a
/// hundredth. `planner` "best", or the name of one of them. Throws OutOfBounds for hosts that do
/// not exist, InvalidArgument for limits out of range, bytes that are negative or not finite, hosts
/// that are not linked; UnknownName for another planner.
Plan make_plan(const Topology& topology, std::span<const Flow> flows, const Limits& limits = {},
               std::string_view planner = "best");

/// The plan for other flows: flows that stay keep their paths, where `plan` is a disjoint one, and
/// new ones find paths beside them. `planner` is what `plan` was asked for: by "best" all flows are
/// planned anew where direct routes would be as good as the paths that are kept.
Plan change_plan(const Topology& topology, std::span<const Flow> flows, const Limits& limits,
                 std::span<const Flow> flows_before, const Plan& plan,
                 std::string_view planner = "best");

/// Seconds in which the busiest link carries what these paths give it.
double load_of(const Topology& topology, std::span<const Flow> flows,
               const std::vector<std::vector<Path>>& paths);

}  // namespace fluvial::route
