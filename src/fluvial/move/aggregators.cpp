// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/aggregators.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/route/plan.hpp"
#include "fluvial/route/sinks.hpp"

namespace fluvial::move {
namespace {

using route::Node;
using Amount = std::uint64_t;  ///< of bytes
using Writers = std::vector<int>;

/// How much of each part each rank has.
using PartBytes = std::vector<std::map<int, Amount>>;

PartBytes parts_of(std::span<const Extent> extents, std::size_t count) {
    Amount total = 0;
    for (const Extent& extent : extents) {
        total += extent.bytes;
    }
    const std::vector<Amount> ends = route::ends_of_parts(total, count);
    PartBytes parts(count);
    Amount place = 0;
    std::size_t part = 0;
    for (const Extent& extent : extents) {
        for (Amount left = extent.bytes; left > 0;) {
            while (ends[part] <= place) {
                ++part;
            }
            const Amount here = std::min(left, ends[part] - place);
            parts[part][extent.rank] += here;
            place += here;
            left -= here;
        }
    }
    return parts;
}

class Choice {
  public:
    Choice(const route::Topology& topology, std::span<const Extent> extents, int ranks,
           std::size_t count)
        : topology_(topology) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto at = static_cast<std::size_t>(rank);
            if (at >= topology.host_of_rank().size()) {
                throw InvalidArgument(Problem{"the topology has no host for a rank",
                                              text("rank ", rank),
                                              counted(topology.host_of_rank().size(), "rank"),
                                              "Take a larger one, or list its \"ranks\""});
            }
            host_of_.push_back(topology.host_of_rank()[at]);
            ranks_of_[host_of_.back()].push_back(rank);
        }
        count_ = std::min(count == 0 ? ranks_of_.size() : count, host_of_.size());
        parts_ = parts_of(extents, count_);
        std::vector<Amount> bytes(host_of_.size(), 0);
        for (const Extent& extent : extents) {
            bytes[static_cast<std::size_t>(extent.rank)] += extent.bytes;
        }
        for (auto& [host, of_host] : ranks_of_) {
            std::stable_sort(of_host.begin(), of_host.end(), [&](int a, int b) {
                return bytes[static_cast<std::size_t>(a)] > bytes[static_cast<std::size_t>(b)];
            });
        }
        std::vector<std::string> names;
        for (const Node host : host_of_) {
            names.push_back(text(host));
        }
        most_data_ = choose_writers(names, extents, count_);
    }

    Writers best() const {
        std::pair<double, double> least{-1, 0};
        Writers found;
        for (const Writers& writers :
             {where_links_are_free(), most_data_, spread(), where_parts_lie()}) {
            for (const Writers& candidate : {writers, matched(writers)}) {
                const auto cost = cost_of(candidate);
                if (found.empty() || cost < least) {
                    least = cost;
                    found = candidate;
                }
            }
        }
        return found;
    }

  private:
    Node host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }

    Writers spread() const {
        std::vector<const std::vector<int>*> hosts;
        for (const auto& entry : ranks_of_) {
            hosts.push_back(&entry.second);
        }
        if (count_ > hosts.size()) {
            return most_data_;
        }
        Writers writers;
        for (std::size_t i = 0; i < count_; ++i) {
            writers.push_back(hosts[i * hosts.size() / count_]->front());
        }
        return writers;
    }

    /// For each part a rank of the host that has most of it, and no host twice before all are
    /// taken.
    Writers where_parts_lie() const {
        const std::size_t most_of_host = (count_ + ranks_of_.size() - 1) / ranks_of_.size();
        std::map<Node, std::size_t> taken;
        const auto free = [&](Node host) {
            return taken[host] < std::min(most_of_host, ranks_of_.at(host).size());
        };
        Writers writers(count_, -1);
        for (std::size_t part = 0; part < count_; ++part) {
            Node best = -1;
            Amount most = 0;
            for (const auto& [host, bytes] : by_host(part)) {
                if (bytes > most && free(host)) {
                    best = host;
                    most = bytes;
                }
            }
            if (best >= 0) {
                writers[part] = ranks_of_.at(best)[taken[best]++];
            }
        }
        for (int& writer : writers) {
            for (auto host = ranks_of_.begin(); writer < 0; ++host) {
                if (host == ranks_of_.end()) {
                    return most_data_;  // hosts with few ranks are full
                }
                if (free(host->first)) {
                    writer = host->second[taken[host->first]++];
                }
            }
        }
        return writers;
    }

    /// For each part in turn the host to which it burdens the busiest of its links least. Too much
    /// to compute for large jobs.
    Writers where_links_are_free() const {
        constexpr std::size_t routes_max = 200'000;
        std::size_t sources = 0;
        for (const auto& part : parts_) {
            sources += part.size();
        }
        if (sources * ranks_of_.size() > routes_max || count_ > ranks_of_.size()) {
            return most_data_;
        }
        std::vector<double> load(topology_.graph().links().size(), 0);
        std::map<Node, bool> taken;
        Writers writers;
        for (std::size_t part = 0; part < count_; ++part) {
            const auto bytes = by_host(part);
            std::pair<double, double> least;
            Node best = -1;
            for (const auto& entry : ranks_of_) {
                if (taken[entry.first]) {
                    continue;
                }
                Before before;
                const auto cost = add_load(bytes, entry.first, load, before);
                if (best < 0 || cost < least) {
                    least = cost;
                    best = entry.first;
                }
                for (auto one = before.rbegin(); one != before.rend(); ++one) {
                    load[one->first] = one->second;
                }
            }
            taken[best] = true;
            Before kept;
            add_load(bytes, best, load, kept);
            writers.push_back(ranks_of_.at(best).front());
        }
        return writers;
    }

    using Before = std::vector<std::pair<std::size_t, double>>;

    /// The highest load of a link that is used, and the sum of what is added. Appends what loads
    /// were before.
    std::pair<double, double> add_load(const std::map<Node, Amount>& bytes, Node to,
                                       std::vector<double>& load, Before& before) const {
        std::pair<double, double> cost{0, 0};
        for (const auto& [from, here] : bytes) {
            route::Route route;
            topology_.append_route(from, to, route);
            for (const route::LinkId id : route) {
                const double seconds =
                    static_cast<double>(here) / topology_.graph().link(id).bandwidth;
                double& of_link = load[static_cast<std::size_t>(id)];
                before.emplace_back(static_cast<std::size_t>(id), of_link);
                of_link += seconds;
                cost.first = std::max(cost.first, of_link);
                cost.second += seconds;
            }
        }
        return cost;
    }

    /// The same writers; each part goes to one of those on whose host most of it lies.
    Writers matched(const Writers& writers) const {
        std::vector<std::pair<Amount, std::pair<std::size_t, std::size_t>>> pairs;
        for (std::size_t part = 0; part < count_; ++part) {
            const auto bytes = by_host(part);
            for (std::size_t i = 0; i < writers.size(); ++i) {
                const auto entry = bytes.find(host_of(writers[i]));
                if (entry != bytes.end()) {
                    pairs.push_back({entry->second, {part, i}});
                }
            }
        }
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        Writers out(count_, -1);
        std::vector<bool> used(writers.size(), false);
        for (const auto& [bytes, pair] : pairs) {
            if (out[pair.first] < 0 && !used[pair.second]) {
                out[pair.first] = writers[pair.second];
                used[pair.second] = true;
            }
        }
        std::size_t next = 0;
        for (int& writer : out) {
            if (writer < 0) {
                next = static_cast<std::size_t>(std::find(used.begin(), used.end(), false) -
                                                used.begin());
                writer = writers[next];
                used[next] = true;
            }
        }
        return out;
    }

    std::map<Node, Amount> by_host(std::size_t part) const {
        std::map<Node, Amount> bytes;
        for (const auto& [rank, here] : parts_[part]) {
            bytes[host_of(rank)] += here;
        }
        return bytes;
    }

    /// The load of the busiest link by direct routes, in seconds, and the bytes that are moved.
    std::pair<double, double> cost_of(const Writers& writers) const {
        std::map<std::pair<Node, Node>, double> between;
        double moved = 0;
        for (std::size_t part = 0; part < count_; ++part) {
            for (const auto& [rank, bytes] : parts_[part]) {
                if (rank != writers[part]) {
                    moved += static_cast<double>(bytes);
                }
                if (host_of(rank) != host_of(writers[part])) {
                    between[{host_of(rank), host_of(writers[part])}] += static_cast<double>(bytes);
                }
            }
        }
        std::vector<route::Flow> flows;
        for (const auto& [hosts, bytes] : between) {
            flows.push_back({hosts.first, hosts.second, bytes});
        }
        return {route::plan_direct(topology_, flows).load_s, moved};
    }

    const route::Topology& topology_;
    std::vector<Node> host_of_;                  ///< by rank
    std::map<Node, std::vector<int>> ranks_of_;  ///< those with most data first
    std::size_t count_ = 0;
    PartBytes parts_;
    Writers most_data_;
};

}  // namespace

std::vector<int> choose_aggregators(const route::Topology& topology,
                                    std::span<const Extent> extents, int ranks, std::size_t count) {
    return Choice(topology, extents, ranks, count).best();
}

}  // namespace fluvial::move
