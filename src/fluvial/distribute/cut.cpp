// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/cut.hpp"

#include <algorithm>

#include "fluvial/base/assert.hpp"

namespace fluvial::distribute {
namespace {

void append_slabs(const Region& region, Index elements_max, std::vector<Region>& out) {
    const Index volume = region.volume();
    if (volume <= elements_max) {
        out.push_back(region);
        return;
    }
    const int axis = longest_axis(region);
    const Index plane = volume / region.extent[axis];
    const Index planes = std::max<Index>(1, elements_max / plane);
    Region rest = region;
    while (rest.extent[axis] > 0) {
        auto [slab, behind] = cut_along(rest, axis, std::min(planes, rest.extent[axis]));
        append_slabs(slab, elements_max, out);
        rest = behind;
    }
}

}  // namespace

int longest_axis(const Region& region) {
    const auto longest = std::max_element(region.extent.begin(), region.extent.end());
    return static_cast<int>(longest - region.extent.begin());
}

std::pair<Region, Region> cut_along(const Region& region, int axis, Index count) {
    Region before = region, behind = region;
    before.extent[axis] = count;
    behind.offset[axis] += count;
    behind.extent[axis] -= count;
    return {before, behind};
}

std::vector<Region> cut_to_size(const Region& region, Index elements_max) {
    FLUVIAL_ASSERT(elements_max >= 1, elements_max);
    std::vector<Region> out;
    if (!region.empty()) {
        append_slabs(region, elements_max, out);
    }
    return out;
}

Halves cut_off(const Region& region, Index least, Index most) {
    FLUVIAL_ASSERT(0 <= least && least <= most && most <= region.volume(), least, most, region);
    Halves halves;
    Region rest = region;
    while (true) {
        const Index volume = rest.volume();
        if (least <= 0 || most >= volume) {
            const bool all = most >= volume && least > 0;
            (all ? halves.first : halves.rest).push_back(rest);
            return halves;
        }
        const int axis = longest_axis(rest);
        const Index plane = volume / rest.extent[axis];
        // The most planes that fit; where even they are too few, the next plane is cut, too.
        const Index planes = most / plane;
        auto [before, behind] = cut_along(rest, axis, planes);
        if (planes > 0) {
            halves.first.push_back(before);
        }
        if (planes * plane >= least) {
            halves.rest.push_back(behind);
            return halves;
        }
        auto [next, others] = cut_along(behind, axis, 1);
        if (!others.empty()) {
            halves.rest.push_back(others);
        }
        least -= planes * plane;
        most -= planes * plane;
        rest = next;
    }
}

}  // namespace fluvial::distribute
