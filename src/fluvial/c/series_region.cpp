// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/series_region.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/c/boundary.hpp"
#include "fluvial/c/series.h"

namespace fluvial::c {

void check_axes(int ndims) {
    if (ndims < 0 || ndims > FLUVIAL_MAX_DIMS) {
        throw InvalidArgument(Problem{"a dataset cannot have so many axes", text(ndims),
                                      text("0 to ", FLUVIAL_MAX_DIMS), ""});
    }
}

Coordinates coordinates_from(int ndims, const MPI_Offset* numbers, const char* name) {
    if (ndims > 0) {
        check_given(numbers, name);
    }
    Coordinates made(ndims, 0);
    for (int axis = 0; axis < ndims; ++axis) {
        made[axis] = numbers[axis];
    }
    return made;
}

void check_owner(int of) {
    if (of < FLUVIAL_SERIES || of > FLUVIAL_DATASET) {
        throw InvalidArgument(
            Problem{"attributes belong to nothing of this kind", text(of),
                    "FLUVIAL_SERIES, FLUVIAL_STEP, FLUVIAL_GROUP, FLUVIAL_DATASET", ""});
    }
}

}  // namespace fluvial::c
