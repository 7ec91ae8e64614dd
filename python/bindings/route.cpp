// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route.hpp"

#include <tuple>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "bound_topology.hpp"
#include "communicator.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/given_up.hpp"
#include "fluvial/route/path.hpp"
#include "planned.hpp"
#include "route.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using route::Arc;
using route::Node;

Node to_node(Index number) {
    const bool known = number >= 0 && number < route::Graph::nodes_max;
    return known ? static_cast<Node>(number) : -1;  // which no topology has
}

std::vector<Node> to_nodes(const std::vector<Index>& numbers) {
    std::vector<Node> nodes;
    for (const Index number : numbers) {
        nodes.push_back(to_node(number));
    }
    return nodes;
}

std::vector<Flow> to_flows(const std::vector<std::tuple<Index, Index, double>>& given) {
    std::vector<Flow> flows;
    for (const auto& [from, to, bytes] : given) {
        flows.push_back({to_node(from), to_node(to), bytes});
    }
    return flows;
}

/// Each rank on the host that its machine is called by. Collective.
BoundTopology place_ranks(std::optional<long> handle, const BoundTopology& topology) {
    const nb::gil_scoped_release release;
    mpi::Comm comm = to_comm(handle);
    BoundTopology found =
        mpi::given_up_on_error(comm, [&] { return BoundTopology{move::placed(comm, *topology)}; });
    comm.close();
    return found;
}

nb::list links_of(const BoundTopology& topology) {
    nb::list out;
    for (const route::Link& link : topology->graph().links()) {
        out.append(nb::make_tuple(link.from, link.to, link.bandwidth, link.latency));
    }
    return out;
}

std::string name_of(const BoundTopology& topology, Index node) {
    const Node nodes = topology->graph().nodes();
    if (node < 0 || node >= nodes) {
        throw OutOfBounds(Problem{"no such node", text(node), text("0 to ", nodes - 1), ""});
    }
    return topology->name_of(static_cast<Node>(node));
}

std::vector<Node> nodes_on_route(const BoundTopology& topology, Index source, Index target) {
    std::vector<Node> nodes{to_node(source)};
    for (const route::LinkId id : topology->route(to_node(source), to_node(target))) {
        nodes.push_back(topology->graph().link(id).to);
    }
    return nodes;
}

void bind_topology(nb::module_& m) {
    nb::class_<BoundTopology>(m, "Topology", "A network and its routing policy.")
        .def("describe", [](const BoundTopology& t) { return t->describe(); })
        .def("routing", [](const BoundTopology& t) { return t->routing().describe(); })
        .def("hosts", [](const BoundTopology& t) { return t->hosts(); })
        .def("nodes", [](const BoundTopology& t) { return t->graph().nodes(); })
        .def("links", links_of, "(from, to, bytes per second, seconds) of each.")
        .def("host_of_rank", [](const BoundTopology& t) { return t->host_of_rank(); })
        .def("name_of", name_of, "node"_a)
        .def(
            "host_named",
            [](const BoundTopology& t, const std::string& name) { return t->host_named(name); },
            "name"_a)
        .def("route", nodes_on_route, "source"_a, "target"_a,
             "Nodes on the way, both ends included.")
        .def(
            "disjoint_ways",
            [](const BoundTopology& t, const std::vector<Index>& sources,
               const std::vector<Index>& sinks) {
                return route::disjoint_ways(t->graph(), to_nodes(sources), to_nodes(sinks));
            },
            "sources"_a, "sinks"_a)
        .def(
            "max_bandwidth",
            [](const BoundTopology& t, const std::vector<Index>& sources,
               const std::vector<Index>& sinks) {
                return route::max_bandwidth(t->graph(), to_nodes(sources), to_nodes(sinks)).value;
            },
            "sources"_a, "sinks"_a);
    m.def(
        "make_topology",
        [](const std::string& text) { return BoundTopology{route::make_topology(text)}; },
        "text"_a);
    m.def(
        "topology_from_json",
        [](const std::string& text, const std::string& name) {
            return BoundTopology{route::make_topology(route::description_from_json(text), name)};
        },
        "text"_a, "name"_a);
    m.def(
        "topology_from_slurm",
        [](const std::string& text, const std::string& name) {
            return BoundTopology{route::make_topology(route::description_from_slurm(text), name)};
        },
        "text"_a, "name"_a);
    m.def(
        "topology_names",
        [] {
            std::vector<std::pair<std::string, std::string>> names;
            for (const auto& entry : route::registrations()) {
                names.emplace_back(entry.name, entry.summary);
            }
            return names;
        },
        "(name, summary) of each kind.");
}

}  // namespace
}  // namespace fluvial::python

void bind_route(nanobind::module_& m) {
    using namespace fluvial::python;
    bind_topology(m);
    nb::class_<Planned>(m, "Plan", "Which flow takes which paths.")
        .def("planner", &Planned::planner)
        .def("load_s", &Planned::load_s)
        .def("direct_load_s", &Planned::direct_load_s)
        .def("paths", &Planned::paths, "flow"_a, "(stops, nodes on the way, share) of each.")
        .def("predict", &Planned::predict, "flow"_a, "bytes"_a, "paths"_a, "costs"_a,
             "(bytes, paths, window, whether direct, seconds, seconds if direct); paths 0: best.")
        .def(
            "changed",
            [](const Planned& plan,
               const std::vector<std::tuple<fluvial::Index, fluvial::Index, double>>& flows) {
                return plan.changed(to_flows(flows));
            },
            "flows"_a);
    m.def(
        "plan_routes",
        [](const BoundTopology& topology,
           const std::vector<std::tuple<fluvial::Index, fluvial::Index, double>>& given,
           const std::string& planner, int proxies_per_path, int paths_per_flow,
           int paths_per_proxy) {
            std::vector<Flow> flows = to_flows(given);
            const Limits limits{proxies_per_path, paths_per_flow, paths_per_proxy};
            const nb::gil_scoped_release release;
            Plan plan = fluvial::route::make_plan(*topology, flows, limits, planner);
            return Planned(topology.held, std::move(flows), limits, planner, std::move(plan));
        },
        "topology"_a, "flows"_a, "planner"_a, "proxies_per_path"_a, "paths_per_flow"_a,
        "paths_per_proxy"_a);
    m.def(
        "balance_sinks",
        [](const BoundTopology& topology,
           const std::vector<std::pair<fluvial::Index, std::uint64_t>>& given,
           const std::vector<fluvial::Index>& sinks) {
            std::vector<fluvial::route::HostBytes> sources;
            for (const auto& [host, bytes] : given) {
                sources.push_back({to_node(host), bytes});
            }
            std::vector<std::tuple<Node, Node, double>> flows;
            for (const Flow& flow :
                 fluvial::route::balance_sinks(*topology, sources, to_nodes(sinks))) {
                flows.emplace_back(flow.from, flow.to, flow.bytes);
            }
            return flows;
        },
        "topology"_a, "sources"_a, "sinks"_a, "(from, to, bytes) of each flow.");
    bind_exchange(m);
    bind_sparse_write(m);
    bind_redistribution(m);
    m.def("place_ranks", place_ranks, "comm"_a.none(), "topology"_a, "Collective.");
    m.def(
        "max_flow",
        [](fluvial::Index nodes,
           const std::vector<std::tuple<fluvial::Index, fluvial::Index, double>>& given,
           const std::vector<fluvial::Index>& sources, const std::vector<fluvial::Index>& sinks) {
            std::vector<Arc> arcs;
            for (const auto& [from, to, capacity] : given) {
                arcs.push_back({to_node(from), to_node(to), capacity});
            }
            const auto found =
                fluvial::route::max_flow(to_node(nodes), arcs, to_nodes(sources), to_nodes(sinks));
            return nb::make_tuple(found.value, found.flow, found.source_side);
        },
        "nodes"_a, "arcs"_a, "sources"_a, "sinks"_a);
}
