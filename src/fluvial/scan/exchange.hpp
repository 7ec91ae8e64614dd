// SPDX-License-Identifier: Apache-2.0
/// The second phase: partial results go to the ranks that asked.
#pragma once

#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/lane.hpp"

namespace fluvial::scan {

/// All ranks' partial results to the one request merged, on all ranks. Collective, blocking; a
/// binomial tree of messages as long as a partial.
PartialResult merge_to_one(const Work& work, std::optional<PartialResult> mine,
                           const mpi::Comm& comm, Stats& stats);

/// The ranks between which partial results go: those that asked this one, in the order of
/// Work::ranks' requests, and those that read for this one; both ascending.
struct Routes {
    const std::vector<int>& askers;
    const std::vector<int>& readers;
};

/// `mine` has what this rank found for each of its ranks' requests; the result is what all ranks
/// found for this rank's own. Collective, blocking; a message to each asker, as long as a partial
/// or empty where nothing was found, merged in the order of the ranks.
PartialResult merge_to_all(const Work& work, std::vector<std::optional<PartialResult>> mine,
                           const Routes& routes, const mpi::Comm& comm, Stats& stats);

}  // namespace fluvial::scan
