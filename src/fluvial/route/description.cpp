// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/description.hpp"

#include <algorithm>
#include <unordered_map>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/json.hpp"
#include "fluvial/base/letter_case.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/route/routings/next_links.hpp"

namespace fluvial::route {
namespace {

/// Numbers of nodes by name, in upper or lower case: a host is called so on the network.
class Nodes {
  public:
    explicit Nodes(const GraphDescription& from) {
        for (const auto* const list : {&from.hosts, &from.switches}) {
            for (const std::string& name : *list) {
                check(name);
                const auto [at, is_new] =
                    numbers_.emplace(lower_case(name), static_cast<Node>(names_.size()));
                if (!is_new) {
                    const std::string& other = names_[static_cast<std::size_t>(at->second)];
                    throw InvalidArgument(
                        Problem{"two nodes of a topology have the same name",
                                text("'", shortened(name), "'",
                                     name == other ? "" : text(" beside '", shortened(other), "'")),
                                "each host and each switch once, in upper or lower case", ""});
                }
                names_.push_back(name);
            }
        }
    }
    Node number(const std::string& name, const char* what) const {
        const auto found = numbers_.find(lower_case(name));
        if (found == numbers_.end()) {
            throw UnknownName(
                Problem{text(what, " names a node that is not listed"), "'" + shortened(name) + "'",
                        "names in hosts and switches",
                        names_.size() > 1000 ? std::string() : did_you_mean(name, names_)});
        }
        return found->second;
    }
    const std::vector<std::string>& names() const { return names_; }

  private:
    static void check(const std::string& name) {
        const bool plain = std::all_of(
            name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
        if (name.empty() || !plain) {
            throw InvalidArgument(Problem{"a node of a topology has a name that cannot be shown",
                                          text(name.size(), " bytes"),
                                          "one character or more, without control characters", ""});
        }
    }

    std::vector<std::string> names_;
    std::unordered_map<std::string, Node> numbers_;
};

RoutingPtr make_routing(const GraphDescription& from, const Graph& graph, const Nodes& nodes) {
    if (!from.routes.empty() && from.routing != "table") {
        throw InvalidArgument(Problem{"routes are listed, and the routing is another one",
                                      "'" + from.routing + "'", "table",
                                      "Set \"routing\": \"table\", or remove the routes"});
    }
    if (from.routing == "shortest") {
        return shortest_paths(graph);
    }
    if (from.routing == "up-down") {
        return up_down(graph, levels_of(graph));
    }
    if (from.routing == "table") {
        std::vector<std::vector<Node>> routes;
        for (const std::vector<std::string>& names : from.routes) {
            routes.emplace_back();
            for (const std::string& name : names) {
                routes.back().push_back(nodes.number(name, "a route"));
            }
        }
        return by_table(graph, routes, nodes.names());
    }
    throw InvalidArgument(Problem{"no routing of this name", "'" + shortened(from.routing) + "'",
                                  "shortest, up-down, table", ""});
}

const std::vector<std::string>& known_members() {
    static const std::vector<std::string> names{"hosts", "switches", "links",
                                                "ranks", "routing",  "routes"};
    return names;
}

std::vector<std::string> strings(const Json* json, const std::string& what) {
    std::vector<std::string> out;
    if (json != nullptr) {
        for (const Json& entry : json->list(what)) {
            out.push_back(entry.string("an entry of " + what));
        }
    }
    return out;
}

/// What the graph would refuse as well, but by the number of a direction, which no file has.
void check(const NamedLink& link, std::size_t line) {
    const auto refuse = [line](const char* what, std::string seen, const char* allowed) {
        throw InvalidArgument(
            Problem{text(what, " a link in line ", line, " is out of range"), seen, allowed, ""});
    };
    if (link.from.empty() || link.to.empty()) {
        throw InvalidArgument(Problem{text("a link in line ", line, " has not both ends"),
                                      "'" + link.from + "' to '" + link.to + "'",
                                      "\"from\" and \"to\"", ""});
    }
    if (link.from == link.to) {
        throw InvalidArgument(Problem{text("a link in line ", line, " goes from a node to itself"),
                                      "'" + shortened(link.from) + "'",
                                      "links between different nodes", ""});
    }
    if (!(link.bandwidth > 0 && link.bandwidth <= Graph::bandwidth_max)) {
        refuse("the bandwidth of", text(link.bandwidth), Graph::bandwidths);
    }
    if (!(link.latency >= 0 && link.latency <= Graph::latency_max)) {
        refuse("the latency of", text(link.latency), Graph::latencies);
    }
}

NamedLink to_link(const Json& json, const LinkDefaults& defaults) {
    NamedLink link{"", "", defaults.bandwidth, defaults.latency, true};
    for (const auto& [name, value] : json.members("a link")) {
        const std::string what = "'" + name + "' of a link";
        if (name == "from" || name == "to") {
            (name == "from" ? link.from : link.to) = value.string(what);
        } else if (name == "bandwidth" || name == "latency") {
            (name == "bandwidth" ? link.bandwidth : link.latency) = value.number(what);
        } else if (name == "both") {
            link.both = value.boolean(what);
        } else {
            throw UnknownName(Problem{text("a link in line ", value.line(), " has another member"),
                                      "'" + shortened(name) + "'",
                                      "from, to, bandwidth, latency, both", ""});
        }
    }
    check(link, json.line());
    return link;
}

}  // namespace

TopologyPtr make_topology(const GraphDescription& description, std::string name) {
    const Nodes nodes(description);
    std::vector<Link> links;
    for (const NamedLink& link : description.links) {
        const Node from = nodes.number(link.from, "a link"), to = nodes.number(link.to, "a link");
        links.push_back({from, to, link.bandwidth, link.latency});
        if (link.both) {
            links.push_back({to, from, link.bandwidth, link.latency});
        }
    }
    std::vector<Node> host_of_rank;
    for (const std::string& host : description.host_of_rank) {
        host_of_rank.push_back(nodes.number(host, "ranks"));
        if (host_of_rank.back() >= static_cast<Node>(description.hosts.size())) {
            throw InvalidArgument(Problem{"a rank runs on a switch", "'" + shortened(host) + "'",
                                          "names in hosts", ""});
        }
    }
    const auto count = [](const auto& list) { return static_cast<Node>(list.size()); };
    Graph graph(count(description.hosts), count(description.switches), std::move(links));
    const RoutingPtr routing = make_routing(description, graph, nodes);
    return std::make_shared<Topology>(std::move(name), std::move(graph), routing, nodes.names(),
                                      std::move(host_of_rank));
}

GraphDescription description_from_json(std::string_view text, const LinkDefaults& defaults) {
    const Json json = parse_json(text);
    for (const auto& [name, value] : json.members("a topology")) {
        bool known = false;
        for (const std::string& one : known_members()) {
            known = known || one == name;
        }
        if (!known) {
            throw UnknownName(Problem{
                fluvial::text("a topology in line ", value.line(), " has another member"),
                "'" + shortened(name) + "'", "hosts, switches, links, ranks, routing, routes",
                did_you_mean(name, known_members())});
        }
    }
    GraphDescription out;
    out.hosts = strings(json.find("hosts"), "hosts");
    out.switches = strings(json.find("switches"), "switches");
    out.host_of_rank = strings(json.find("ranks"), "ranks");
    if (const Json* const links = json.find("links")) {
        for (const Json& link : links->list("links")) {
            out.links.push_back(to_link(link, defaults));
        }
    }
    if (const Json* const routes = json.find("routes")) {
        for (const Json& route : routes->list("routes")) {
            out.routes.push_back(strings(&route, "a route"));
        }
        out.routing = "table";
    }
    if (const Json* const routing = json.find("routing")) {
        out.routing = routing->string("routing");
    }
    return out;
}

}  // namespace fluvial::route
