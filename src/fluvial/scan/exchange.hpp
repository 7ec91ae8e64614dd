// SPDX-License-Identifier: Apache-2.0
/// The second phase: partial results go to whoever asked.
#pragma once

#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/lane.hpp"

namespace fluvial::scan {

/// All ranks' answers to the one question merged, on all ranks. Collective, blocking; a binomial
/// tree of messages as long as a partial.
Answer merge_to_one(const Work& work, std::optional<Answer> mine, const mpi::Comm& comm,
                    Stats& stats);

/// `mine` has what this rank found for each rank's question; the result is what all ranks found for
/// this rank's. Collective, blocking; a message to each rank for which something was found, as long
/// as a partial, merged in the order of the ranks.
Answer merge_to_all(const Work& work, std::vector<std::optional<Answer>> mine,
                    const mpi::Comm& comm, Stats& stats);

}  // namespace fluvial::scan
