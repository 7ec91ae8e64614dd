// SPDX-License-Identifier: Apache-2.0
/// Positions on a regular grid, as openPMD's attributes of a mesh say.
#pragma once

#include <optional>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial {

/// gridGlobalOffset + (index + position) * gridSpacing along an axis, in the unit of the grid; none
/// where no attributes have a spacing of each axis. `said` are those of the dataset and of what it
/// is in: the first that has one counts. Where they say that the data is in Fortran's order, they
/// count axes from the last.
std::optional<std::vector<double>> positions_along(int axis, const Coordinates& shape,
                                                   const std::vector<Attributes>& said);

}  // namespace fluvial
