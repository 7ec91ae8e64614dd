// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/selected_coordinates.hpp"

namespace fluvial::compute {

void make_global(Array& coordinates, const Selection& selection) {
    const auto ndim = static_cast<std::size_t>(selection.ndim());
    auto* const values = coordinates.as<Index>();
    for (std::size_t i = 0; i < coordinates.bytes.size() / sizeof(Index); ++i) {
        const int axis = static_cast<int>(i % ndim);
        if (values[i] >= 0) {
            values[i] = selection.start[axis] + values[i] * selection.stride[axis];
        }
    }
}

}  // namespace fluvial::compute
