// SPDX-License-Identifier: Apache-2.0
/// A grid of boxes over all that was written, one box a reader: what hyperslabs and cuboids are.
#pragma once

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

/// The smallest region that holds all chunks; of none, one without dimensions.
Region bounding_box(const Request& request);

/// `axis` counted from the front. Throws OutOfBounds; `name` opens the message.
int axis_of(const Region& box, Index axis, const std::string& name);

/// Cuts the bounding box into cells[axis] parts along each axis, whose extents differ by at most
/// one, larger ones first. Box i in row-major order is reader i's. One entry of `cells` an axis.
Distribution assign_cells(const Request& request, const Coordinates& cells);

/// The bounds of that cut: no reader has more than its box holds.
Bounds bounds_of_cells(const Request& request, const Coordinates& cells);

}  // namespace fluvial::distribute
