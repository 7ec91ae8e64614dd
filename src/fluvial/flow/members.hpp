// SPDX-License-Identifier: Apache-2.0
/// The ranks of a pool: on which host each is, and whether it lives.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "fluvial/flow/begun_tasks.hpp"
#include "fluvial/flow/function.hpp"
#include "fluvial/host/process.hpp"
#include "fluvial/move/distant_beats.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/progress/heartbeats.hpp"

namespace fluvial::flow {

class Members {
  public:
    struct Seat {
        int host = 0;  ///< the lowest rank there
        host::Process process;
        host::FilePlace beats;
    };

    /// Collective, blocking. A stall_timeout_s of infinity lets ranks be that are stopped.
    Members(const mpi::Comm& comm, double stall_timeout_s);
    /// From now on the lead watches those ranks on other hosts of which `alone` is true (the others
    /// have a server there), and ranks on other hosts watch the lead. Collective, blocking. Throws
    /// as move::beats_between_hosts().
    void watch_from_afar(const mpi::Comm& comm, const std::function<bool(int)>& alone);

    int size() const { return static_cast<int>(seats_.size()); }
    int own_rank() const { return own_rank_; }
    int host_of(int rank) const { return seats_[static_cast<std::size_t>(rank)].host; }
    /// Ranks to each core that this rank may run on.
    double ranks_per_core() const { return ranks_per_core_; }
    /// A rank that has died, or is stopped, since the last call, but for the lead; its `rank` says
    /// which. Local; some microseconds a rank where it looks, which is four times a second.
    std::optional<TaskFailure> look();
    /// This rank begins a task now. Local; costs a store.
    void note_begun(TaskId task) { begun_->note(task); }
    /// The task that a rank began last, 0 for none, if that can be known and is the last that it
    /// ever will: the rank is on this host, and has died. Local.
    std::optional<TaskId> last_begun(int rank) const;
    /// The lead has died, is stopped, or cannot be reached. Local.
    std::optional<TaskFailure> lead_lost();

  private:
    const Seat& seat_of(int rank) const { return seats_[static_cast<std::size_t>(rank)]; }
    bool is_dead(int rank) const;
    std::vector<progress::Heartbeats::Neighbour> neighbours() const;
    void stop_watching(int rank);
    TaskFailure silent_here(int rank, double silent_s) const;
    TaskFailure silent_afar(int rank, double silent_s) const;

    int own_rank_;
    double stall_timeout_s_;
    double ranks_per_core_ = 1;
    std::vector<Seat> seats_;
    std::unique_ptr<BegunTasks> begun_;
    std::vector<int> watched_;  ///< others on this host that can be seen, but for the lead
    std::unique_ptr<progress::Heartbeats> heartbeats_;
    std::unique_ptr<progress::Heartbeats> lead_heartbeats_;  ///< where the lead is on this host
    std::unique_ptr<move::DistantBeats> distant_;
    std::int64_t looked_ns_ = 0;
};

}  // namespace fluvial::flow
