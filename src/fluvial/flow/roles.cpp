// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/roles.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "fluvial/base/error.hpp"

namespace fluvial::flow {

namespace {

/// Groups of ranks that have a server of their own.
using Groups = std::vector<std::vector<int>>;

Groups by_host(const std::vector<int>& hosts) {
    std::map<int, std::vector<int>> there;
    for (int rank = 1; rank < static_cast<int>(hosts.size()); ++rank) {
        const int host = hosts[static_cast<std::size_t>(rank)];
        if (host != hosts.front()) {
            there[host].push_back(rank);
        }
    }
    Groups groups;
    for (auto& [host, ranks] : there) {
        if (ranks.size() > 1) {
            groups.push_back(std::move(ranks));
        }
    }
    return groups;
}

Groups evenly(const std::vector<int>& hosts, int servers) {
    const int others = static_cast<int>(hosts.size()) - 1;
    const int groups = servers - 1;
    if (servers < servers_by_host || 2 * groups > others) {
        throw InvalidArgument(
            Problem{"the number of servers of a pool is out of range", text(servers),
                    text("1 to ", others / 2 + 1, " for ", others + 1, " ranks"),
                    "Each server other than rank 0 needs a rank that runs tasks"});
    }
    std::vector<int> ranks(static_cast<std::size_t>(others));
    std::iota(ranks.begin(), ranks.end(), 1);
    std::ranges::stable_sort(ranks, {},
                             [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; });
    Groups found;
    for (int group = 0; group < groups; ++group) {
        const auto at = [&](int of) {
            return ranks.begin() + static_cast<std::ptrdiff_t>(of) * others / groups;
        };
        found.emplace_back(at(group), at(group + 1));
    }
    return found;
}

}  // namespace

Roles::Roles(const std::vector<int>& hosts, bool lead_works, int servers)
    : worker_of_(hosts.size(), -1), server_of_(hosts.size(), 0) {
    const int size = static_cast<int>(hosts.size());
    for (const auto& group : servers == servers_by_host ? by_host(hosts) : evenly(hosts, servers)) {
        const int relay = *std::ranges::min_element(group);
        relays_.push_back(relay);
        for (const int rank : group) {
            server_of_[static_cast<std::size_t>(rank)] = rank == relay ? 0 : relay;
        }
    }
    std::ranges::sort(relays_);
    for (int rank = lead_works || size == 1 ? 0 : 1; rank < size; ++rank) {
        if (!std::ranges::binary_search(relays_, rank)) {
            worker_of_[static_cast<std::size_t>(rank)] = static_cast<int>(workers_.size());
            workers_.push_back(rank);
        }
    }
}

std::vector<int> Roles::served_by(int server) const {
    std::vector<int> found;
    std::ranges::copy_if(workers_, std::back_inserter(found),
                         [&](int rank) { return server_of(rank) == server; });
    return found;
}

std::string Roles::workers_in_words() const {
    std::string said = workers_.size() == 1 ? "rank " : "ranks ";
    for (auto first = workers_.begin(); first != workers_.end();) {
        auto last = first;
        while (last + 1 != workers_.end() && *(last + 1) == *last + 1) {
            ++last;
        }
        said += first == last ? text(*first) : text(*first, " to ", *last);
        first = last + 1;
        said += first != workers_.end() ? ", " : "";
    }
    return said;
}

}  // namespace fluvial::flow
