# SPDX-License-Identifier: Apache-2.0
"""Maximum flows against those of networkx."""

import random

import networkx
import pytest

import fluvial as fl


def random_graph(draw):
    """Return nodes, arcs with whole capacities, sources and sinks; arcs may be parallel."""
    nodes = draw.randint(2, 14)
    ends = range(nodes)
    count = draw.randint(0, 4 * nodes)
    arcs = [(draw.choice(ends), draw.choice(ends), draw.randint(0, 20)) for _ in range(count)]
    order = draw.sample(ends, nodes)
    sources = draw.randint(1, nodes - 1)
    sinks = draw.randint(1, nodes - sources)
    return nodes, arcs, order[:sources], order[sources : sources + sinks]


@pytest.mark.random
def test_max_flow_is_that_of_networkx_on_thousands_of_graphs(seed):
    draw = random.Random(seed)
    for number in range(3000):
        nodes, arcs, sources, sinks = random_graph(draw)
        graph = networkx.DiGraph()
        graph.add_nodes_from([*range(nodes), "source", "sink"])
        for a, b, capacity in arcs:
            before = graph.get_edge_data(a, b, {"capacity": 0})["capacity"]
            graph.add_edge(a, b, capacity=before + capacity)
        graph.add_edges_from(("source", node) for node in sources)  # without a limit
        graph.add_edges_from((node, "sink") for node in sinks)
        found = fl.route.max_flow(nodes, arcs, sources, sinks)
        assert found.value == networkx.maximum_flow_value(graph, "source", "sink"), number
        cut = sum(c for a, b, c in arcs if found.source_side[a] and not found.source_side[b])
        assert cut == found.value, number


@pytest.mark.parametrize(
    "text", ["torus:4x3", "bgq:2x2x4x2x2", "mesh:3x3", "fattree:3x3,up=2x2", "dragonfly:5x2x2"]
)
def test_the_links_of_a_topology_carry_as_many_paths_as_networkx_says(text):
    net = fl.route.topology(text)
    graph = networkx.DiGraph((link.source, link.target, {"capacity": 1}) for link in net.links)
    for target in range(1, net.hosts):
        bound = networkx.maximum_flow_value(graph, 0, target)
        assert net.disjoint_paths_max(0, target) == bound
        assert len(fl.route.plan(net, [(0, target)], "disjoint").paths[0]) <= bound
