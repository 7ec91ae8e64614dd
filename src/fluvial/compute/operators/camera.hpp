// SPDX-License-Identifier: Apache-2.0
/// A flat detector in real space, and the q vectors that its pixels see.
#pragma once

#include <array>
#include <vector>

#include "fluvial/compute/operators/structure_factor_lattice.hpp"

namespace fluvial::compute {

/// A beam of one wavelength hits the sample at the origin; a flat detector stands behind it, at a
/// right angle to the beam or inclined.
struct Camera {
    double wavelength;              ///< in the positions' unit of length
    double distance;                ///< from the sample to where the beam hits the detector
    std::array<int, 2> pixels;      ///< rows and columns
    std::array<double, 2> pixel;    ///< height and width of one, in the unit of `distance`
    std::array<double, 2> beam_at;  ///< pixel that the beam hits, counted from 0, with fractions
    Vector3 beam{0, 0, 1};          ///< direction of the beam
    std::array<Vector3, 2> sides{{{0, 1, 0}, {1, 0, 0}}};  ///< directions of rows and columns
};

/// q = k' - k of each pixel's middle, row by row, |k| = |k'| = 2π / wavelength (elastic).
/// Directions are taken at length 1. Throws InvalidArgument: a length is not above 0, a direction
/// is 0, or the detector has no area or contains the beam.
std::vector<Vector3> q_of_pixels(const Camera& camera);

}  // namespace fluvial::compute
