// SPDX-License-Identifier: Apache-2.0
/// What one rank does as told: makes its teams' communicators, and runs tasks in them.
#pragma once

#include <atomic>
#include <map>

#include "fluvial/flow/function.hpp"
#include "fluvial/flow/messages.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/teams.hpp"

namespace fluvial::flow {

class Crew {
  public:
    /// Collective over `comm`, blocking. `functions` outlive it. With `audits` a task fails that
    /// leaves a message in its team's communicator; the message is received, so that each is told
    /// of once.
    Crew(const mpi::Comm& comm, const Functions& functions, bool audits)
        : rank_(comm.rank()), functions_(functions), audits_(audits), teams_(comm) {}

    /// Collective over the team's ranks.
    void make(const Order& order);
    void free(TeamNumber team);
    /// Runs this rank's part of a task. What the function throws is in the report. `signalled`: as
    /// RunningTask has it.
    Report run(const Order& order, const std::function<bool()>& cancelled,
               std::atomic<bool>* signalled = nullptr);
    /// The ranks of a team, in the pool.
    const std::vector<int>& ranks_of(TeamNumber team) const { return made_.at(team).ranks; }

    /// Collective over the pool: all have freed the same teams.
    void close();
    /// A rank is lost: everything is left to MPI_Finalize.
    void abandon() noexcept;

  private:
    struct Made {
        std::vector<int> ranks;
        mpi::Comm comm;
        bool used = false;  ///< by a task that shared it
    };

    Bytes call(const Order& order, Made* team, const std::function<bool()>& cancelled,
               std::atomic<bool>* signalled);

    int rank_;
    const Functions& functions_;
    bool audits_;
    mpi::Teams teams_;
    mpi::Comm alone_;
    std::map<TeamNumber, Made> made_;
};

}  // namespace fluvial::flow
