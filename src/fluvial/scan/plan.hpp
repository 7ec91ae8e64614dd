// SPDX-License-Identifier: Apache-2.0
/// Which rank reads and computes what: validated and agreed on, before the first byte is read.
#pragma once

#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/rank_request.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {

struct Plan {
    std::vector<OperatorSet> sets;
    std::vector<int> over;  ///< ascending
    int groups = 1;
    RankRequest own;     ///< of this rank
    bool common = true;  ///< all ranks ask the same
    std::vector<RankRequest>
        rank_requests;           ///< that this rank reads something for; `own` when common
    std::vector<int> askers;     ///< their ranks, ascending; unless common
    std::vector<int> readers;    ///< ranks that read for `own`, ascending; unless common
    Selection selection;         ///< that the units are made of
    Selection covered;           ///< domain of the one partial result (not ToAll)
    std::size_t grid_input = 0;  ///< the input whose layout the units follow
    Index buffer_bytes = 0;
    Index window_bytes = 0;  ///< that a lane may look at in place for an input; 0: none
    Options::Access access = Options::Access::Chosen;  ///< of this rank
    int threads = 0;                                   ///< of this rank; 0: it does not read
    Index lane_begin = 0;                              ///< number of this rank's first lane
    Index lanes = 0;                                   ///< of all ranks
    Index metadata_bytes = 0;
};

/// Collective over `comm` (local when serial or Independent). Throws InvalidArgument on all ranks,
/// and where they differ in what add_terms() says. Costs some allreduces; with ToOne and ToAll each
/// rank's request goes to those that read a part of its selection, so that neither time nor memory
/// grows with the number of ranks, but for an allgather of 16 bytes a rank where ranks differ in
/// threads.
Plan make_plan(const Request& request, const Options& options, const mpi::Comm& comm);

}  // namespace fluvial::scan
