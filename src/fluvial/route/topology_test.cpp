// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/topology.hpp"

#include <cstdint>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/route/registry.hpp"
#include "fluvial/route/routings/next_links.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

/// The nodes that a message comes to.
std::vector<Node> way(const Topology& topology, Node from, Node to) {
    std::vector<Node> nodes;
    for (const LinkId id : topology.route(from, to)) {
        nodes.push_back(topology.graph().link(id).to);
    }
    return nodes;
}

}  // namespace

TEST_CASE("a torus goes along one dimension after the other, the shorter way around") {
    const TopologyPtr torus = make_topology("torus:4x5");
    CHECK(torus->hosts() == 20);
    CHECK(torus->graph().links().size() == 80);
    CHECK(way(*torus, 0, 7) == std::vector<Node>{5, 6, 7});
    CHECK(way(*torus, 0, 18) == std::vector<Node>{15, 19, 18});
    CHECK(way(*torus, 0, 10) == std::vector<Node>{5, 10});  // both ways are as long: up
    CHECK(way(*make_topology("torus:4x5,routing=longest-first"), 0, 7) ==
          std::vector<Node>{1, 2, 7});
}

TEST_CASE("a dimension of two hosts has one cable, a mesh has none around") {
    CHECK(make_topology("torus:2x2")->graph().links().size() == 8);
    CHECK(make_topology("mesh:4")->graph().links().size() == 6);
    CHECK(way(*make_topology("mesh:4"), 3, 0) == std::vector<Node>{2, 1, 0});
    CHECK(make_topology("torus:1")->graph().links().empty());
}

TEST_CASE("Blue Gene/Q: nine links a host, the longest dimensions first, equals by the zone") {
    const TopologyPtr bgq = make_topology("bgq:4x4x4x4x2");
    CHECK(bgq->hosts() == 512);
    for (Node host = 0; host < bgq->hosts(); ++host) {
        REQUIRE(bgq->graph().out(host).size() == 9);
    }
    CHECK(way(*bgq, 0, 426).size() == 4);
    const std::vector<Node> first{32, 40}, last{8, 40};  // along B, then C, and the other way
    CHECK(way(*bgq, 0, 40) == first);
    CHECK(way(*make_topology("bgq:4x4x4x4x2,zone=3"), 0, 40) == last);
    CHECK(way(*make_topology("bgq:2x2x4x2x2"), 0, 36) == std::vector<Node>{4, 36});
    // What the network draws for each message is drawn for each pair here: both orders occur.
    const TopologyPtr any = make_topology("bgq:4x4x4x4x2,zone=0");
    std::map<bool, int> b_first;
    for (Node from = 0; from < 512; from += 64) {
        ++b_first[way(*any, from, from + 40)[0] == from + 32];
    }
    CHECK(b_first.size() == 2);
}

TEST_CASE("Blue Gene/Q with I/O hosts: messages to them go by their bridges") {
    const TopologyPtr bgq = make_topology("bgq:4x4x4x4x2,io=64,io-bandwidth=3e9");
    CHECK(bgq->hosts() == 512 + 8);
    CHECK(bgq->host_of_rank().size() == 512);
    CHECK(way(*bgq, 65, 513) == std::vector<Node>{64, 513});
    CHECK(way(*bgq, 64, 513) == std::vector<Node>{513});
    CHECK(way(*bgq, 519, 450) == std::vector<Node>{448, 450});
    CHECK(way(*bgq, 512, 513) == std::vector<Node>{0, 32, 64, 513});
    const Route route = bgq->route(0, 513);
    CHECK(bgq->graph().link(route.back()).bandwidth == 3e9);
    CHECK(bgq->graph().link(route.front()).bandwidth == 1.8e9);
    CHECK(bgq->passes_on(64));
    CHECK_FALSE(bgq->passes_on(513));
    CHECK(make_topology("fattree:4x4")->passes_on(0));
    for (const char* text : {"bgq:2x2x2x2x2,io=33", "bgq:2x2x2x2x2,io=0", "bgq:2x2x2x2x2,io=4x4",
                             "bgq:2x2x2x2x2,io=4,io-bandwidth=0", "torus:4x4,io=4"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(make_topology(text), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(make_topology("bgq:2x2x2x2x2,io=33"), doctest::Contains("1 to 32"),
                         InvalidArgument);
}

TEST_CASE("a fat tree goes up only as far as it must, and spreads destinations") {
    const TopologyPtr tree = make_topology("fattree:4x4,up=1x2");
    CHECK(tree->hosts() == 16);
    CHECK(tree->graph().nodes() == 16 + 4 + 2);
    CHECK(way(*tree, 0, 3) == std::vector<Node>{16, 3});
    CHECK(way(*tree, 0, 4).size() == 4);
    CHECK(way(*tree, 0, 4)[1] != way(*tree, 0, 5)[1]);
}

TEST_CASE("a dragonfly takes the one link between two groups") {
    const TopologyPtr fly = make_topology("dragonfly:5x2x2,global-bandwidth=1e9");
    CHECK(fly->hosts() == 20);
    for (Node to = 4; to < 20; ++to) {
        const Route route = fly->route(0, to);
        CHECK(route.size() <= 5);
        CHECK(fly->graph().bandwidth(route) == 1e9);
    }
    CHECK(fly->graph().bandwidth(fly->route(0, 3)) == 12.5e9);
}

TEST_CASE("shortest paths do not go through hosts where there are switches") {
    // Hosts 0, 1, 2; switches 3, 4: 0 – 3 – 4 – 2, and host 1 has both switches.
    const std::vector<Link> links{{0, 3, 1, 0}, {3, 0, 1, 0}, {3, 4, 1, 0}, {4, 3, 1, 0},
                                  {4, 2, 1, 0}, {2, 4, 1, 0}, {3, 1, 1, 0}, {1, 4, 1, 0}};
    const Graph graph(3, 2, links);
    const Topology topology("it", graph, shortest_paths(graph));
    CHECK(way(topology, 0, 2) == std::vector<Node>{3, 4, 2});
    CHECK_THROWS_WITH_AS(topology.route(2, 5), doctest::Contains("0 to 2"), OutOfBounds);
    // Without the link between the switches there is a way by host 1 alone: none for the network.
    const Graph cut(3, 2, {links[0], links[4], links[6], links[7]});
    CHECK_THROWS_WITH_AS(Topology("it", cut, shortest_paths(cut)).route(0, 2),
                         doctest::Contains("no way"), InvalidArgument);
}

TEST_CASE("equal networks have equal fingerprints, others have others") {
    const std::vector<Link> links{{0, 1, 1, 0}, {1, 0, 1, 0}, {1, 2, 1, 0}, {0, 2, 1, 0}};
    const Graph graph(3, 0, links);
    const auto of = [](const Graph& of_graph, const RoutingPtr& routing,
                       std::vector<std::string> names = {}, std::vector<Node> ranks = {}) {
        return Topology("it", of_graph, routing, std::move(names), std::move(ranks)).fingerprint();
    };
    const std::uint64_t one = of(graph, shortest_paths(graph));
    CHECK(one == of(Graph(3, 0, links), shortest_paths(graph), {}, {0, 0, 1}));
    std::set<std::uint64_t> found{one};
    for (std::size_t link = 0; link < links.size(); ++link) {
        std::vector<Link> slower = links, later = links;
        slower[link].bandwidth = 2;
        later[link].latency = 1;
        for (const Graph& other : {Graph(3, 0, slower), Graph(3, 0, later)}) {
            found.insert(of(other, shortest_paths(other)));
        }
    }
    found.insert(of(Graph(3, 1, links), shortest_paths(graph)));
    found.insert(of(Graph(2, 1, links), shortest_paths(graph)));
    found.insert(of(graph, up_down(graph, {0, 1, 2})));
    found.insert(of(graph, shortest_paths(graph), {"a", "b", "c"}));
    found.insert(of(graph, shortest_paths(graph), {"a", "bc", ""}));
    found.insert(of(graph, by_table(graph, {})));
    found.insert(of(graph, by_table(graph, {{0, 1, 2}})));
    found.insert(of(graph, by_table(graph, {{0, 2}})));
    CHECK(found.size() == 1 + 2 * links.size() + 8);
}

TEST_CASE("what is no topology says why") {
    CHECK_THROWS_WITH_AS(make_topology("tours:4x4"), doctest::Contains("Did you mean 'torus'?"),
                         UnknownName);
    CHECK_THROWS_WITH_AS(make_topology("torus:4x4,bandwith=1"),
                         doctest::Contains("Did you mean 'bandwidth'?"), UnknownName);
    CHECK_THROWS_WITH_AS(make_topology("bgq:4x4x4"), doctest::Contains("A, B, C, D and E"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(make_topology("bgq:4x4x4x4x2,zone=4"), doctest::Contains("2, 0, 1, 3"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(make_topology("torus:1024x1024x2"), doctest::Contains("too many hosts"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(make_topology("fattree:4x4,up=2"), doctest::Contains("levels"),
                         InvalidArgument);
    CHECK_THROWS_AS(make_topology("fattree:1000x1000x1000"), InvalidArgument);
    CHECK_THROWS_AS(make_topology("dragonfly:1000x1000x1000"), InvalidArgument);
    for (const char* text : {"",
                             "torus",
                             ":4",
                             "torus:",
                             "torus:0",
                             "torus:4x",
                             "torus:x4",
                             "torus:4x-1",
                             "torus:99999999999",
                             "torus:4,",
                             "torus:4,bandwidth",
                             "torus:4,bandwidth=",
                             "torus:4,bandwidth=0",
                             "torus:4,bandwidth=nan",
                             "torus:4,bandwidth=inf",
                             "torus:4,latency=-1",
                             "torus:4,latency=1,latency=2",
                             "torus:4,bandwidth=1e308",
                             "torus:4,bandwidth=1.01e18",
                             "torus:4,latency=1e308",
                             "torus:4,latency=1.01e6",
                             "dragonfly:5x2x2,global-bandwidth=2e18",
                             "bgq:2x2x2x2x2,io=4,io-bandwidth=2e18",
                             "torus:4,routing=up-down",
                             "mesh:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(make_topology(text), InvalidArgument);
    }
    CHECK(make_topology("torus:4,bandwidth=1e18,latency=1e6")->graph().links()[0].latency == 1e6);
    CHECK_THROWS_AS(Graph(2, 0, {{0, 2, 1, 0}}), OutOfBounds);
    CHECK_THROWS_AS(Graph(2, 0, {{0, 1, 1e308, 0}}), InvalidArgument);
    CHECK_THROWS_AS(Graph(2, 0, {{0, 1, 1, 1e308}}), InvalidArgument);
    CHECK_THROWS_AS(Graph(2, 0, {{1, 1, 1, 0}}), InvalidArgument);
    CHECK_THROWS_AS(Graph(0, 1, {}), InvalidArgument);
}
