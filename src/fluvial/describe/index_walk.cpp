// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/index_walk.hpp"

#include "fluvial/base/assert.hpp"

namespace fluvial {

Coordinates jumps_of(std::span<const Index> extent, const Coordinates& strides) {
    const auto ndim = static_cast<int>(extent.size());
    FLUVIAL_ASSERT(ndim <= strides.size(), Coordinates(extent), strides);
    Coordinates jumps(ndim, 0);
    Index back = 0;  // from the last index of the axes behind to their first
    for (int axis = ndim - 1; axis >= 0; --axis) {
        const Index length = extent[static_cast<std::size_t>(axis)];
        if (length > 1) {  // the stride of a lone index is never gone along, and may be anything
            jumps[axis] = strides[axis] - back;
            back += (length - 1) * strides[axis];
        }
    }
    return jumps;
}

ContiguousAxes contiguous_axes(const ArrayView& view) {
    const auto item = static_cast<Index>(size_of(view.dtype));
    ContiguousAxes found{view.ndim(), 1};
    while (found.first > 0) {
        const int axis = found.first - 1;
        if (view.extent[axis] != 1 && view.strides[axis] != found.elements * item) {
            break;
        }
        found.first = axis;
        found.elements *= view.extent[axis];
    }
    return found;
}

}  // namespace fluvial
