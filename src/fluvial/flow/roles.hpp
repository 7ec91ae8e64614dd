// SPDX-License-Identifier: Apache-2.0
/// Which ranks of a pool run tasks, and which only serve those.
#pragma once

#include <string>
#include <vector>

namespace fluvial::flow {

/// Decides for the others.
inline constexpr int lead_rank = 0;
/// One server on each host instead of a number of servers.
inline constexpr int servers_by_host = 0;

/// The lead alone decides. Each other server passes on, between the lead and a group of
/// ranks, what the lead sends them and what they report, so the lead has few partners however many
/// ranks there are. A task may be as wide as all ranks that run tasks, whichever rank serves them.
class Roles {
  public:
    /// `hosts` has a number for the host of each rank. Of `servers` servers one is the lead; the
    /// ranks that run tasks are divided evenly among the others, in the order of hosts, and the
    /// first rank of each group is its server. By host, each host has one, the lead its own; a rank
    /// that is the only one on its host is served by the lead. Throws InvalidArgument when some
    /// server would have no rank to serve.
    Roles(const std::vector<int>& hosts, bool lead_works, int servers);

    /// Ranks that run tasks, in order: a worker's number is its place here.
    const std::vector<int>& workers() const { return workers_; }
    int rank_of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }
    /// -1 for a rank that runs no tasks.
    int worker_of(int rank) const { return in(worker_of_, rank); }
    bool runs_tasks(int rank) const { return worker_of(rank) >= 0; }
    /// Servers other than the lead, in order.
    const std::vector<int>& relays() const { return relays_; }
    bool is_relay(int rank) const { return rank > 0 && in(worker_of_, rank) < 0 && in_pool(rank); }
    /// The rank from which this one gets what it is to do; the lead's own is itself.
    int server_of(int rank) const { return in(server_of_, rank); }
    /// Ranks that get their tasks from this one.
    std::vector<int> served_by(int server) const;
    /// "ranks 1 to 7", "ranks 2 to 4, 6 to 9".
    std::string workers_in_words() const;

  private:
    bool in_pool(int rank) const { return rank < static_cast<int>(server_of_.size()); }
    int in(const std::vector<int>& numbers, int rank) const {
        return rank >= 0 && in_pool(rank) ? numbers[static_cast<std::size_t>(rank)] : -1;
    }

    std::vector<int> workers_;
    std::vector<int> relays_;
    std::vector<int> worker_of_;  ///< by rank
    std::vector<int> server_of_;  ///< by rank
};

}  // namespace fluvial::flow
