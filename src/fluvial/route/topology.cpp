// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/topology.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <span>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/hash.hpp"
#include "fluvial/base/letter_case.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::route {
namespace {

std::uint64_t hash_of_text(const std::string& text) {
    return hash_of(std::as_bytes(std::span(text)));
}

std::uint64_t fingerprint_of(const Graph& graph, const Routing& routing,
                             const std::vector<std::string>& names) {
    std::vector<std::uint64_t> parts{static_cast<std::uint64_t>(graph.hosts()),
                                     static_cast<std::uint64_t>(graph.nodes()),
                                     hash_of(std::as_bytes(std::span(graph.links()))),
                                     hash_of_text(routing.describe()), routing.fingerprint()};
    std::ranges::transform(names, std::back_inserter(parts), hash_of_text);
    return hash_of(std::as_bytes(std::span(parts)));
}

}  // namespace

Topology::Topology(std::string description, Graph graph, RoutingPtr routing,
                   std::vector<std::string> names, std::vector<Node> host_of_rank)
    : description_(std::move(description)),
      graph_(std::move(graph)),
      routing_(std::move(routing)),
      names_(std::move(names)),
      host_of_rank_(std::move(host_of_rank)),
      fingerprint_(fingerprint_of(graph_, *routing_, names_)) {
    if (!names_.empty() && names_.size() != static_cast<std::size_t>(graph_.nodes())) {
        throw InvalidArgument(Problem{"not every node has a name", counted(names_.size(), "name"),
                                      text(graph_.nodes(), " names, or none"), ""});
    }
    if (host_of_rank_.empty()) {
        host_of_rank_.resize(static_cast<std::size_t>(graph_.hosts()));
        std::iota(host_of_rank_.begin(), host_of_rank_.end(), 0);
    }
    for (const Node host : host_of_rank_) {
        check_host(host, "the host of a rank");
    }
}

std::string Topology::name_of(Node node) const {
    return names_.empty() ? text(node) : names_[static_cast<std::size_t>(node)];
}

bool Topology::passes_on(Node host) const {
    const std::span<const LinkId> out = graph_.out(host), in = graph_.in(host);
    if (out.empty() || in.empty()) {
        return false;
    }
    const Node neighbour = graph_.link(out[0]).to;
    const auto leads_there = [&](LinkId id) { return graph_.link(id).to == neighbour; };
    const auto comes_from_there = [&](LinkId id) { return graph_.link(id).from == neighbour; };
    return neighbour >= hosts() || !std::all_of(out.begin(), out.end(), leads_there) ||
           !std::all_of(in.begin(), in.end(), comes_from_there);
}

bool Topology::is_called(Node host, std::string_view name) const {
    const std::string_view own = names_[static_cast<std::size_t>(host)];
    const std::size_t dot = own.find('.'), other_dot = name.find('.');
    const bool both = (dot == own.npos) == (other_dot == name.npos);
    return both ? same_but_for_case(own, name)
                : same_but_for_case(own.substr(0, dot), name.substr(0, other_dot));
}

TopologyPtr Topology::placed(std::span<const std::string> host_of_each_rank) const {
    if (!named()) {
        throw InvalidArgument(Problem{"the hosts of a topology have no names",
                                      "'" + description_ + "'", "one from a file",
                                      "Say where ranks run by the order in which they start"});
    }
    const std::vector<std::string> known(names_.begin(), names_.begin() + hosts());
    std::vector<Node> host_of_rank;
    for (const std::string& name : host_of_each_rank) {
        Node host = 0;
        while (host < hosts() && !is_called(host, name)) {
            ++host;
        }
        if (host == hosts()) {
            throw UnknownName(Problem{
                text("rank ", host_of_rank.size(), " runs on a host that the topology ",
                     description_, " does not have"),
                "'" + name + "'", text("one of ", hosts(), " hosts, such as '", known[0], "'"),
                did_you_mean(name, known)});
        }
        host_of_rank.push_back(host);
    }
    return std::make_shared<Topology>(description_, graph_, routing_, names_,
                                      std::move(host_of_rank));
}

Node Topology::host_named(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size() && static_cast<Node>(i) < hosts(); ++i) {
        if (same_but_for_case(names_[i], name)) {
            return static_cast<Node>(i);
        }
    }
    Node number = 0;
    const char* const end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(name.data(), end, number);
    if (error == std::errc() && stopped == end && number >= 0 && number < hosts()) {
        return number;
    }
    const std::vector<std::string> known(names_.begin(),
                                         names_.begin() + (names_.empty() ? 0 : hosts()));
    throw UnknownName(Problem{"no host of this name", fluvial::text("'", name, "'"),
                              text("0 to ", hosts() - 1, names_.empty() ? "" : ", or its name"),
                              did_you_mean(name, known)});
}

void Topology::check_host(Node node, const std::string& what) const {
    if (node < 0 || node >= hosts()) {
        throw OutOfBounds(Problem{what + " is not in the topology " + description_, text(node),
                                  text("0 to ", hosts() - 1), ""});
    }
}

Route Topology::route(Node from, Node to) const {
    check_host(from, "the host where a route begins");
    check_host(to, "the host where a route ends");
    Route links;
    if (!append_route(from, to, links)) {
        const bool shortest = routing().describe() == "shortest";
        throw InvalidArgument(Problem{
            "the network has no way from one host to another", name_of(from) + " to " + name_of(to),
            "hosts that are linked",
            text("Add links to the topology",
                 shortest ? "" : text(", or take another routing than ", routing().describe()))});
    }
    return links;
}

}  // namespace fluvial::route
