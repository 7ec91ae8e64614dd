// SPDX-License-Identifier: Apache-2.0
/// Places in datasets as C programs say them.
#pragma once

#include "fluvial/c/fluvial.h"
#include "fluvial/describe/region.hpp"

namespace fluvial::c {

/// Throws InvalidArgument unless so many axes can be.
void check_axes(int ndims);
/// One number an axis. Throws InvalidArgument for a null pointer where there are axes; `name` is
/// the argument's.
Coordinates coordinates_from(int ndims, const MPI_Offset* numbers, const char* name);
/// Throws InvalidArgument for what attributes do not belong to.
void check_owner(int of);

}  // namespace fluvial::c
