// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/routing.hpp"

#include <algorithm>

#include "fluvial/base/bytes.hpp"

namespace fluvial::scan {
namespace {

/// The inverse of first_unit.
Index lane_of(Index unit, Index lanes, Index units) {
    const Index each = units / lanes, longer = units % lanes;  // the first ones have one more
    const Index in_longer = longer * (each + 1);
    return unit < in_longer ? unit / (each + 1) : longer + (unit - in_longer) / each;
}

}  // namespace

Index first_unit(Index lane, Index lanes, Index units) {
    return lanes == 0 ? 0 : units / lanes * lane + std::min(lane, units % lanes);
}

LaneOwners::LaneOwners(const mpi::Comm& comm, Index lanes_here, bool each_alike)
    : each_(each_alike ? lanes_here : 0), ranks_(comm.size()) {
    if (each_ > 0) {
        return;
    }
    ByteWriter mine;
    mine.put(lanes_here);
    begins_.push_back(0);
    for (const Bytes& lanes : comm.allgather(mine.view())) {
        begins_.push_back(begins_.back() + ByteReader(lanes).get<Index>());
    }
}

int LaneOwners::rank_of(Index lane) const {
    if (each_ > 0) {
        return static_cast<int>(lane / each_);
    }
    return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), lane) -
                            begins_.begin()) -
           1;
}

std::vector<int> readers_of(const Selection& selection, const Selection& covered,
                            const UnitGrid& grid, const LaneOwners& owners) {
    Region inside = selection.bounds();
    if (inside.empty() || owners.lanes() == 0) {
        return {};
    }
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        inside.offset[axis] -= covered.start[axis];
    }
    std::vector<int> readers;
    grid.for_runs(inside, [&](Index first, Index end) {
        Index lane = lane_of(first, owners.lanes(), grid.size());
        const Index last = lane_of(end - 1, owners.lanes(), grid.size());
        while (lane <= last) {
            const int rank = owners.rank_of(lane);
            if (readers.empty() || readers.back() < rank) {
                readers.push_back(rank);
            }
            lane = owners.first_lane(rank + 1);
        }
    });
    return readers;
}

}  // namespace fluvial::scan
