// SPDX-License-Identifier: Apache-2.0
/// Cutting a region by numbers of elements.
#pragma once

#include <utility>
#include <vector>

#include "fluvial/describe/region.hpp"

namespace fluvial::distribute {

/// The axis of the largest extent, the first of equals; 0 without dimensions.
int longest_axis(const Region& region);

/// (region before `count` planes along `axis`, region behind them).
std::pair<Region, Region> cut_along(const Region& region, int axis, Index count);

/// Slabs of equal size (the last may be smaller) of at most `elements_max` elements, along the
/// longest axis; where one plane is larger, each plane is cut in the same way. At most
/// 1 + 3 · volume / elements_max of them. `elements_max` is 1 or more.
std::vector<Region> cut_to_size(const Region& region, Index elements_max);

/// A region in two heaps.
struct Halves {
    std::vector<Region> first, rest;
};

/// Cuts off between `least` and `most` elements (0 ≤ least ≤ most ≤ volume), with as few cuts as it
/// takes: along the longest axis; where no plane is in that window, the plane in which it lies is
/// cut again. Together at most 2 · ndim regions (1 without dimensions).
Halves cut_off(const Region& region, Index least, Index most);

}  // namespace fluvial::distribute
