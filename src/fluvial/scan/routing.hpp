// SPDX-License-Identifier: Apache-2.0
/// Which ranks read a part of a selection: these are told of the request, and no others.
#pragma once

#include <vector>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {

/// First of the units of a lane; lane `lanes` is the end. All lanes get equal ranges.
Index first_unit(Index lane, Index lanes, Index units);

/// How the lanes are dealt to the ranks: rank r has those behind the lanes of the lower ranks.
class LaneOwners {
  public:
    /// Collective over `comm`, blocking. `each_alike`: every rank has as many lanes as this one;
    /// else an allgather of their numbers, 16 bytes a rank.
    LaneOwners(const mpi::Comm& comm, Index lanes_here, bool each_alike);

    Index lanes() const { return each_ > 0 ? each_ * ranks_ : begins_.back(); }
    Index first_lane(int rank) const {
        return each_ > 0 ? each_ * rank : begins_[rank_index(rank)];
    }
    int rank_of(Index lane) const;

  private:
    static std::size_t rank_index(int rank) { return static_cast<std::size_t>(rank); }

    Index each_ = 0;  ///< 0: as begins_ says
    Index ranks_ = 0;
    std::vector<Index> begins_;  ///< of each rank, and the end
};

/// The ranks whose lanes have units that touch `selection`, ascending. `covered` is the dense
/// selection that the grid was made of. Local; time in proportion to the rows of units that are
/// touched.
std::vector<int> readers_of(const Selection& selection, const Selection& covered,
                            const UnitGrid& grid, const LaneOwners& owners);

}  // namespace fluvial::scan
