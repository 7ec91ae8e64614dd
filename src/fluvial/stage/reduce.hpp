// SPDX-License-Identifier: Apache-2.0
/// Operators on the datasets of a live step, where the data lies: chunks are absorbed in the
/// writer's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/compute/request.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stage/reader.hpp"

namespace fluvial::stage {

struct ReduceRequest : compute::Request {
    std::vector<std::string> datasets;  ///< of equal shapes; Entry::inputs counts in this list
    std::optional<ArrayView> weights;   ///< float64, with the extent of the selection
    std::optional<ArrayView> mask;      ///< uint8, likewise
    /// Axes that the caller counts from the end (compute::Domain::backwards); selection, weights
    /// and mask are in ascending order all the same.
    std::vector<int> backwards;
    /// What computes. Scan and IndependentScan: the ranks only agree on the request, and the caller
    /// then makes the scan, together or each rank for itself. Results are empty.
    enum class By : std::uint8_t { Itself, Scan, IndependentScan };
    By by = By::Itself;
};

/// Reduces in one pass: each rank of `comm` absorbs its equal part (cut along the longest axis of
/// the selection), the partial results are merged along a binomial tree and the result is on all
/// ranks. Collective over `comm`; an error on one rank is thrown on all. Moves no element: only
/// partials travel, log2(ranks) messages deep. Coordinates in results are global. Throws what
/// StagedDataset::read and the operators throw, and InvalidArgument on all ranks where these differ
/// in the step, datasets, operators, selection, axes, weights or mask. Of weights and mask up to
/// 1024 elements are compared; those of a rank's own part count. A rank that has died is a PeerLost
/// on the others, and one that is stopped for longer than the reader's stall_timeout (at least 2 s)
/// a PeerStalled; the ranks of `comm` get to know each other in its first reduction, in which that
/// is not noticed yet.
std::map<std::string, compute::Result> reduce(const ReadStep& step, const ReduceRequest& request,
                                              const mpi::Comm& comm);
/// The same; what `prepare` throws on one rank is thrown on all.
std::map<std::string, compute::Result> reduce(const ReadStep& step,
                                              const std::function<ReduceRequest()>& prepare,
                                              const mpi::Comm& comm);

}  // namespace fluvial::stage
