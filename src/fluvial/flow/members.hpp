// SPDX-License-Identifier: Apache-2.0
/// The ranks of a pool: on which host each is, and whether it lives.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "fluvial/flow/function.hpp"
#include "fluvial/host/process.hpp"
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

    /// Collective, blocking. Ranks on other hosts are not seen; a stall_timeout_s of infinity lets
    /// ranks be that are stopped.
    Members(const mpi::Comm& comm, double stall_timeout_s);

    int size() const { return static_cast<int>(seats_.size()); }
    int own_rank() const { return own_rank_; }
    int host_of(int rank) const { return seats_[static_cast<std::size_t>(rank)].host; }
    /// Ranks to each core that this rank may run on.
    double ranks_per_core() const { return ranks_per_core_; }
    /// A rank of this host that has died, or is stopped, since the last call; its `rank` says
    /// which. Local; some microseconds a rank where it looks, which is four times a second.
    std::optional<TaskFailure> look();
    /// True of a rank of this host that has died.
    bool is_dead(int rank) const;

  private:
    std::vector<progress::Heartbeats::Neighbour> neighbours() const;
    TaskFailure lose(int rank, const char* kind, std::string message);

    int own_rank_;
    double stall_timeout_s_;
    double ranks_per_core_ = 1;
    std::vector<Seat> seats_;
    std::vector<int> watched_;  ///< others on this host that can be seen
    std::unique_ptr<progress::Heartbeats> heartbeats_;
    std::int64_t looked_ns_ = 0;
};

}  // namespace fluvial::flow
