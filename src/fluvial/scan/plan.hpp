// SPDX-License-Identifier: Apache-2.0
/// Who reads and computes what: validated, agreed between the ranks, before the first byte is read.
#pragma once

#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/question.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {

struct Plan {
    std::vector<OperatorSet> sets;
    std::vector<int> over;  ///< ascending
    int groups = 1;
    std::vector<Question> questions;  ///< of all ranks; one alone when they are all the same
    Selection selection;              ///< that the units are made of
    Selection covered;                ///< domain of the one answer (not ToAll)
    std::size_t grid_input = 0;       ///< the input whose layout the units follow
    Index buffer_bytes = 0;
    int threads = 0;       ///< of this rank; 0: it does not read
    Index lane_begin = 0;  ///< number of this rank's first lane
    Index lanes = 0;       ///< of all ranks
    Index metadata_bytes = 0;
};

/// Collective over `comm` (local when serial or Independent). Throws InvalidArgument on all ranks.
/// Costs an allreduce or two; with ToOne and ToAll an allgather of the questions.
Plan make_plan(const Request& request, const Options& options, const mpi::Comm& comm);

}  // namespace fluvial::scan
