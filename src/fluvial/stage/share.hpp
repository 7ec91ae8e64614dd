// SPDX-License-Identifier: Apache-2.0
/// What one rank of a reader gets of a live step, by a strategy of distribute/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fluvial/distribute/strategy.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stage/reader.hpp"

namespace fluvial::stage {

/// The hosts of all ranks of `comm`, by rank. Collective, blocking; one allgather.
std::vector<distribute::Place> places_of(const mpi::Comm& comm);

struct ShareRequest {
    std::vector<std::string> datasets;  ///< each is distributed for itself
    distribute::StrategyPtr strategy;
    std::function<std::string(int)> writer_host;  ///< Reader::host_of()
    std::vector<distribute::Place> readers;       ///< what places_of() returned
};

/// This rank's parts of each dataset; those of all ranks together are everything that was written,
/// each element once, but for what the strategy discards. Collective over `comm`: the ranks compare
/// step, datasets and strategy, and each computes the same distribution. One allreduce; no data.
/// What `prepare` or the strategy throws on one rank is thrown on all, and InvalidArgument where
/// the ranks differ. Ranks that do not run are errors as of reduce().
std::map<std::string, std::vector<distribute::Piece>> share_of(
    const ReadStep& step, const std::function<ShareRequest()>& prepare, const mpi::Comm& comm);

}  // namespace fluvial::stage
