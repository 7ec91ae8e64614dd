// SPDX-License-Identifier: Apache-2.0
/// Coordinates that operators found in a selection's own index space, told in the dataset's.
#pragma once

#include "fluvial/compute/operator.hpp"
#include "fluvial/describe/selection.hpp"

namespace fluvial::compute {

/// `coordinates` are int64 rows of one number an axis; negative ones mean "none" and stay.
void make_global(Array& coordinates, const Selection& selection);

}  // namespace fluvial::compute
