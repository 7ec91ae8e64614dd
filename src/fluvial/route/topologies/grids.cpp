// SPDX-License-Identifier: Apache-2.0
/// torus, mesh: hosts in a grid of any dimension, with and without links around. bgq: the torus of
/// Blue Gene/Q, whose messages go along the longest dimension first; zones as in Bui et al. 2016,
/// section 3; links carry 1.8 of 2 GB/s for users' data. With io=64 each 64 hosts
/// have an I/O host, at the end of a link of 2 GB/s.
#include <array>
#include <numeric>

#include "fluvial/base/error.hpp"
#include "fluvial/route/registry.hpp"
#include "fluvial/route/routings/dimension_ordered.hpp"
#include "fluvial/route/routings/next_links.hpp"
#include "fluvial/route/routings/through_bridges.hpp"

namespace fluvial::route {
namespace {

constexpr std::size_t grid_ndim_max = 16;

TopologyPtr make_grid(TopologyText& words, bool around) {
    words.require_ndim(1, grid_ndim_max, text("1 to ", grid_ndim_max, " lengths"));
    const double bandwidth = words.bandwidth(12.5e9), latency = words.latency(100e-9);
    static constexpr std::array<std::string_view, 3> policies{"dimension-ordered", "longest-first",
                                                              "shortest"};
    const std::string policy = words.word("routing", policies);
    std::string description = words.done();
    const auto grid = std::make_shared<const Grid>(words.shape(), around, bandwidth, latency);
    Graph graph(grid->hosts(), 0, grid->links());
    const auto order =
        policy == "longest-first" ? DimensionOrder::LongestFirst : DimensionOrder::FirstToLast;
    const RoutingPtr routing =
        policy == "shortest" ? shortest_paths(graph) : dimension_ordered(grid, order);
    return std::make_shared<Topology>(std::move(description), std::move(graph), routing);
}

TopologyPtr make_bgq(TopologyText& words) {
    words.require_ndim(5, 5, "five lengths: A, B, C, D and E");
    const double bandwidth = words.bandwidth(1.8e9), latency = words.latency(40e-9);
    static constexpr std::array<std::string_view, 4> zones{"2", "0", "1", "3"};
    const std::string zone = words.word("zone", zones);
    const std::vector<Node> hosts_per_io = words.numbers("io");
    const double io_bandwidth = words.bandwidth("io-bandwidth", 2e9);
    std::string description = words.done();
    const auto grid = std::make_shared<const Grid>(words.shape(), true, bandwidth, latency);
    const auto order = zone == "0"   ? DimensionOrder::LongestFirstAnyOfEquals
                       : zone == "1" ? DimensionOrder::Any
                       : zone == "2" ? DimensionOrder::LongestFirst
                                     : DimensionOrder::LongestFirstLastOfEquals;
    const RoutingPtr routing = dimension_ordered(grid, order);
    if (hosts_per_io.empty()) {
        return std::make_shared<Topology>(std::move(description),
                                          Graph(grid->hosts(), 0, grid->links()), routing);
    }
    if (hosts_per_io.size() != 1 || hosts_per_io[0] > grid->hosts()) {
        throw InvalidArgument(Problem{"option 'io' of a topology cannot be used",
                                      "'" + text_of(hosts_per_io) + "'",
                                      text("hosts per I/O host, 1 to ", grid->hosts()), ""});
    }
    const Bridges bridges{grid->hosts(), hosts_per_io[0]};
    std::vector<Link> links = grid->links();
    const std::vector<Link> to_io = bridges.links(io_bandwidth, latency);
    links.insert(links.end(), to_io.begin(), to_io.end());
    Graph graph(grid->hosts() + bridges.io_hosts(), 0, std::move(links));
    std::vector<Node> ranks(static_cast<std::size_t>(grid->hosts()));  // none on I/O hosts
    std::iota(ranks.begin(), ranks.end(), 0);
    return std::make_shared<Topology>(std::move(description), graph,
                                      through_bridges(routing, bridges, graph),
                                      std::vector<std::string>{}, std::move(ranks));
}

}  // namespace

Registration register_torus() {
    return {"torus",
            "a grid whose ends are linked: torus:8x8x8",
            [](TopologyText& words) { return make_grid(words, true); },
            {"torus:8", "torus:3x3", "torus:4x2x3,bandwidth=1e9,latency=1e-6",
             "torus:3x4x2,routing=longest-first", "torus:5x4,routing=shortest"}};
}

Registration register_mesh() {
    return {"mesh",
            "a grid without links around: mesh:6x6",
            [](TopologyText& words) { return make_grid(words, false); },
            {"mesh:5", "mesh:3x4", "mesh:2x3x2,routing=shortest", "mesh:1"}};
}

Registration register_bgq() {
    return {
        "bgq",
        "the torus of Blue Gene/Q, longest dimension first: bgq:4x4x4x4x2",
        [](TopologyText& words) { return make_bgq(words); },
        {"bgq:2x2x2x2x2", "bgq:2x2x4x2x2,zone=0", "bgq:2x3x2x2x2,zone=1", "bgq:2x2x3x2x2,zone=3",
         "bgq:2x2x2x2x2,io=16", "bgq:2x3x2x2x2,io=20,io-bandwidth=2e9"}};
}

}  // namespace fluvial::route
