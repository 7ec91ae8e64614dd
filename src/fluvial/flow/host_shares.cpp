// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/host_shares.hpp"

#include <algorithm>
#include <map>

namespace fluvial::flow {

namespace {

/// Sums of amounts that were taken and given back differ from the whole by rounding.
constexpr double rounding = 1e-9;

}  // namespace

HostShares::HostShares(const std::vector<int>& hosts, std::span<const double> amounts) {
    std::map<int, std::size_t> numbers;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto [found, is_new] = numbers.emplace(hosts[rank], hosts_.size());
        if (is_new) {
            hosts_.push_back({{}, {amounts.begin(), amounts.end()}});
        }
        hosts_[found->second].ranks.push_back(static_cast<int>(rank));
        host_of_.push_back(found->second);
    }
}

int HostShares::widest() const {
    std::size_t most = 0;
    for (const Host& host : hosts_) {
        most = std::max(most, host.ranks.size());
    }
    return static_cast<int>(most);
}

bool HostShares::fits(const Host& host, const IdleRanks& idle, int width,
                      const Needs& needs) const {
    const int there = host.ranks.empty() ? 0 : idle.count_on_host_of(host.ranks.front());
    if (there < width || (needs.exclusive && there < static_cast<int>(host.ranks.size()))) {
        return false;
    }
    for (std::size_t resource = 0; resource < needs.amounts.size(); ++resource) {
        if (needs.amounts[resource] > host.left[resource] * (1 + rounding)) {
            return false;
        }
    }
    return true;
}

std::optional<std::vector<int>> HostShares::choose(const IdleRanks& idle, int width,
                                                   const Needs& needs,
                                                   const std::optional<Near>& near,
                                                   int avoid) const {
    const auto on = [&](const Host& host) {
        return idle.choose(width, Near{host.ranks.front(), true, true}, avoid);
    };
    if (near) {
        const Host& host = hosts_[host_of_[static_cast<std::size_t>(near->rank)]];
        const bool rank_itself = near->strict && !near->anywhere_on_host;
        if (fits(host, idle, width, needs) && (!rank_itself || idle.idle(near->rank))) {
            return near->anywhere_on_host ? on(host) : idle.choose(width, near, avoid);
        }
        if (near->strict) {
            return std::nullopt;
        }
    }
    for (const Host& host : hosts_) {
        if (fits(host, idle, width, needs)) {
            return on(host);
        }
    }
    return std::nullopt;
}

std::vector<int> HostShares::kept(const std::vector<int>& team, const Needs& needs) const {
    return needs.exclusive ? hosts_[host_of_[static_cast<std::size_t>(team.front())]].ranks : team;
}

void HostShares::add(int rank, const Needs& needs, int sign) {
    Host& host = hosts_[host_of_[static_cast<std::size_t>(rank)]];
    for (std::size_t resource = 0; resource < needs.amounts.size(); ++resource) {
        host.left[resource] += sign * needs.amounts[resource];
    }
}

void HostShares::retire(int rank) {
    std::erase(hosts_[host_of_[static_cast<std::size_t>(rank)]].ranks, rank);
}

}  // namespace fluvial::flow
