// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/selection.hpp"

namespace fluvial {

Region Selection::bounds() const {
    Region region{start, count};
    for (int axis = 0; axis < ndim(); ++axis) {
        region.extent[axis] = count[axis] == 0 ? 0 : (count[axis] - 1) * stride[axis] + 1;
    }
    return region;
}

Selection select(const Region& region) {
    return {region.offset, region.extent, Coordinates(region.ndim(), 1)};
}

void check_inside(const Selection& selection, const Coordinates& shape, const Subject& what) {
    if (selection.start.size() != selection.count.size() ||
        selection.stride.size() != selection.count.size()) {
        throw InvalidArgument(
            Problem{text(what, ": start, count and stride differ in length"),
                    text(selection.start, ", ", selection.count, ", ", selection.stride),
                    "one entry an axis each", ""});
    }
    for (int axis = 0; axis < selection.ndim(); ++axis) {
        if (selection.stride[axis] < 1 || selection.count[axis] < 0) {
            throw InvalidArgument(
                Problem{text(what, ": cannot select along axis ", axis),
                        text("count ", selection.count[axis], ", stride ", selection.stride[axis]),
                        "a count of 0 or more, a stride of 1 or more", ""});
        }
        // Before bounds() multiplies the two, which may not fit 63 bits.
        const bool known = axis < shape.size() && selection.count[axis] > 1;
        if (known && selection.stride[axis] > shape[axis] / (selection.count[axis] - 1)) {
            throw InvalidArgument(
                Problem{text(what, ": reaches past the end of axis ", axis),
                        text("count ", selection.count[axis], ", stride ", selection.stride[axis]),
                        text("what fits the extent of ", shape[axis]), ""});
        }
    }
    check_inside(selection.bounds(), shape, what);
}

std::optional<Region> selected_within(const Selection& selection, const Region& region) {
    Region inside{Coordinates(selection.ndim(), 0), Coordinates(selection.ndim(), 0)};
    for (int axis = 0; axis < selection.ndim(); ++axis) {
        const Index stride = selection.stride[axis];
        const Index before = std::max<Index>(0, region.offset[axis] - selection.start[axis]);
        const Index behind = region.offset[axis] + region.extent[axis] - selection.start[axis];
        const Index first = before == 0 ? 0 : (before - 1) / stride + 1;
        const Index end =
            std::min(selection.count[axis], behind <= 0 ? 0 : (behind - 1) / stride + 1);
        if (first >= end) {
            return std::nullopt;
        }
        inside.offset[axis] = first;
        inside.extent[axis] = end - first;
    }
    return inside;
}

}  // namespace fluvial
