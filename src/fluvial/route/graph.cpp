// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/graph.hpp"

#include <algorithm>
#include <limits>

#include "fluvial/base/finer_errors.hpp"

namespace fluvial::route {
namespace {

void check_size(Node hosts, Node switches) {
    if (hosts < 1 || hosts > Graph::nodes_max) {
        throw InvalidArgument(Problem{"the number of hosts is out of range", text(hosts),
                                      text("1 to ", Graph::nodes_max), ""});
    }
    if (switches < 0 || switches > Graph::nodes_max - hosts) {
        throw InvalidArgument(
            Problem{"the number of switches is out of range", text(switches),
                    text("0 to ", Graph::nodes_max - hosts, " beside ", hosts, " hosts"), ""});
    }
}

void check(const Link& link, std::size_t number, Node nodes) {
    for (const Node end : {link.from, link.to}) {
        if (end < 0 || end >= nodes) {
            throw OutOfBounds(Problem{text("link ", number, " ends at a node that does not exist"),
                                      text(end), text("0 to ", nodes - 1), ""});
        }
    }
    if (link.from == link.to) {
        throw InvalidArgument(Problem{text("link ", number, " goes from a node to itself"),
                                      text(link.from), "links between different nodes", ""});
    }
    if (!(link.bandwidth > 0 && link.bandwidth <= Graph::bandwidth_max)) {
        throw InvalidArgument(Problem{text("the bandwidth of link ", number, " is out of range"),
                                      text(link.bandwidth), Graph::bandwidths, ""});
    }
    if (!(link.latency >= 0 && link.latency <= Graph::latency_max)) {
        throw InvalidArgument(Problem{text("the latency of link ", number, " is out of range"),
                                      text(link.latency), Graph::latencies, ""});
    }
}

/// Sorts the numbers of links by one of their ends, which `end` names.
template <class End>
void sort_by_end(const std::vector<Link>& links, Node nodes, End end, std::vector<LinkId>& sorted,
                 std::vector<std::size_t>& begin) {
    begin.assign(static_cast<std::size_t>(nodes) + 1, 0);
    for (const Link& link : links) {
        ++begin[static_cast<std::size_t>(end(link)) + 1];
    }
    for (std::size_t i = 1; i < begin.size(); ++i) {
        begin[i] += begin[i - 1];
    }
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    sorted.resize(links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        sorted[next[static_cast<std::size_t>(end(links[i]))]++] = static_cast<LinkId>(i);
    }
}

}  // namespace

Graph::Graph(Node hosts, Node switches, std::vector<Link> links)
    : hosts_(hosts), nodes_(0), links_(std::move(links)) {
    check_size(hosts, switches);
    nodes_ = hosts + switches;
    if (links_.size() > static_cast<std::size_t>(std::numeric_limits<LinkId>::max())) {
        throw InvalidArgument(Problem{"there are too many links", text(links_.size()),
                                      text("at most ", std::numeric_limits<LinkId>::max()), ""});
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
        check(links_[i], i, nodes_);
    }
    sort_by_end(links_, nodes_, [](const Link& link) { return link.from; }, out_, out_begin_);
    sort_by_end(links_, nodes_, [](const Link& link) { return link.to; }, in_, in_begin_);
}

std::optional<LinkId> Graph::between(Node from, Node to) const {
    for (const LinkId id : out(from)) {
        if (link(id).to == to) {
            return id;
        }
    }
    return std::nullopt;
}

double Graph::latency(std::span<const LinkId> route) const {
    double sum = 0;
    for (const LinkId id : route) {
        sum += link(id).latency;
    }
    return sum;
}

double Graph::bandwidth(std::span<const LinkId> route) const {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId id : route) {
        least = std::min(least, link(id).bandwidth);
    }
    return least;
}

}  // namespace fluvial::route
