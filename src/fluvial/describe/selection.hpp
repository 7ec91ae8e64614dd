// SPDX-License-Identifier: Apache-2.0
/// What a reader asks for: start, count and stride along each axis, as in HDF5 and netCDF
/// hyperslabs.
#pragma once

#include <optional>
#include <string>

#include "fluvial/describe/region.hpp"

namespace fluvial {

/// The elements start + i * stride for i in [0, count), along each axis; strides are 1 or more.
struct Selection {
    Coordinates start;
    Coordinates count;
    Coordinates stride;

    int ndim() const { return count.size(); }
    bool is_dense() const {
        return std::all_of(stride.begin(), stride.end(), [](Index s) { return s == 1; });
    }
    /// The smallest region that holds all selected elements.
    Region bounds() const;
};

/// Every element of `region`.
Selection select(const Region& region);

/// Throws InvalidArgument unless the selection lies in `shape` and its strides are positive.
void check_inside(const Selection& selection, const Coordinates& shape, const Subject& what);

/// The part of the selection inside `region`, in the selection's own index space (0 is its first
/// element): element i of the result is element result.offset + i of the selection. None when
/// nothing of it is inside.
std::optional<Region> selected_within(const Selection& selection, const Region& region);

}  // namespace fluvial
