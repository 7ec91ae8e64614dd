// SPDX-License-Identifier: Apache-2.0
/// Exchanges one after the other, between the same ranks or others, each planned by itself.
#pragma once

#include <span>
#include <vector>

#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/rank_plan.hpp"
#include "fluvial/route/topology.hpp"

namespace fluvial::move {

/// | round                            | is moved |
/// |----------------------------------|----------------------------------------------------|
/// | without a topology               | direct |
/// | between the ranks of the last    | by the same paths |
/// | between others                   | by a new plan, where it has planned_max flows or less |
/// | with more flows                  | direct: to plan it would take longer than it gains |
/// | after a path was given up        | direct, over a communicator without old messages |
class PlannedRounds {
  public:
    static constexpr std::size_t planned_max = 1024;

    /// Both outlive this.
    PlannedRounds(const mpi::Comm& comm, const route::Topology* topology,
                  const route::RankPlanOptions& options, double stall_timeout_s);
    ~PlannedRounds();
    PlannedRounds(const PlannedRounds&) = delete;
    PlannedRounds& operator=(const PlannedRounds&) = delete;

    /// `data` is the same on all ranks; `outgoing` as in exchange(). Collective, blocking. Throws
    /// as exchange() and plan_between_ranks() do.
    std::vector<Arrived> move(const std::vector<route::RankBytes>& data,
                              std::span<const Outgoing> outgoing);
    /// The most paths that one flow has had in any round.
    std::size_t paths_max() const { return paths_max_; }

  private:
    void plan(const std::vector<route::RankBytes>& data);

    const mpi::Comm& comm_;
    mpi::Comm fresh_;
    const mpi::Comm* used_;
    const route::Topology* topology_;
    const route::RankPlanOptions& options_;
    double stall_timeout_s_;
    std::size_t paths_max_ = 1;
    std::vector<route::RankFlow> flows_;  ///< of the last round
};

}  // namespace fluvial::move
