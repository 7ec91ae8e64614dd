// SPDX-License-Identifier: Apache-2.0
/// Which of many regions have elements in common.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/describe/region.hpp"

namespace fluvial::distribute {

/// The pairs (a, b), a < b, of positions whose regions have a common element, ascending. The
/// regions have equal dimensions. Halves the set at a coordinate again and again, so that regions
/// which form a grid cost O(n log n); O(n²) where many lie across any cut.
std::vector<std::pair<std::size_t, std::size_t>> overlapping(std::span<const Region> regions);

/// For each region, disjoint parts of it that no later region covers: together they are the union
/// of all, each element once, where the last to write it put it.
std::vector<std::vector<Region>> last_written(std::span<const Region> regions);

}  // namespace fluvial::distribute
