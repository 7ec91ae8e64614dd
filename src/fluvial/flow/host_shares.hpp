// SPDX-License-Identifier: Apache-2.0
/// What tasks have of hosts beside ranks: pure.
#pragma once

#include <span>
#include <vector>

#include "fluvial/flow/idle_ranks.hpp"
#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

class HostShares {
  public:
    /// `hosts` has a number for the host of each rank, `amounts` what each host has of each
    /// resource.
    HostShares(const std::vector<int>& hosts, std::span<const double> amounts);

    /// Ranks of the host that has the most.
    int widest() const;
    /// The team of a task with needs, on one host; nothing when none has the ranks or the rest now.
    std::optional<std::vector<int>> choose(const IdleRanks& idle, int width, const Needs& needs,
                                           const std::optional<Near>& near, int avoid) const;
    /// The ranks that a task keeps from others: its own, or all of its host.
    std::vector<int> kept(const std::vector<int>& team, const Needs& needs) const;
    void take(int rank, const Needs& needs) { add(rank, needs, -1); }
    void give_back(int rank, const Needs& needs) { add(rank, needs, 1); }
    /// A rank is lost.
    void retire(int rank);

  private:
    struct Host {
        std::vector<int> ranks;  ///< that are not lost, ascending
        std::vector<double> left;
    };

    void add(int rank, const Needs& needs, int sign);
    bool fits(const Host& host, const IdleRanks& idle, int width, const Needs& needs) const;

    std::vector<Host> hosts_;
    std::vector<std::size_t> host_of_;  ///< of each rank
};

}  // namespace fluvial::flow
