// SPDX-License-Identifier: Apache-2.0
/// What MPI returns and what it accepts, checked: error codes become exceptions, 64-bit counts
/// become ints.
#pragma once

#include <string_view>

#include "fluvial/describe/coordinates.hpp"

namespace fluvial::mpi {

/// Throws SystemError with `what`, MPI's own text and the code unless `mpi_error` is MPI_SUCCESS.
/// Local.
void check(int mpi_error, std::string_view what);

/// The one place where a count, rank or displacement narrows to MPI's int. Local. Throws
/// InvalidArgument that names the value, `what` and the range when the value does not fit. Payloads
/// of any length do not come here as bytes: they travel as one element of Datatype::payload.
int to_int(Index value, std::string_view what);

}  // namespace fluvial::mpi
