// SPDX-License-Identifier: Apache-2.0
/// What MPI returns and what it accepts, checked: error codes become exceptions, 64-bit counts
/// become ints.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial::mpi {

/// A call of MPI has failed. Where MPI reads the memory of other processes, any call may, a moment
/// before it shows that another rank has died: those that watch ranks look then, and say that.
class CallFailed : public SystemError {
  public:
    using SystemError::SystemError;
};

/// In a handler: the rank whose death a CallFailed comes from, as `dead_rank` sees it now or in
/// the next two seconds; a process that is ending loses its memory first. Null at once when another
/// exception is handled.
std::optional<int> dead_behind_failure(const std::function<std::optional<int>()>& dead_rank);

/// Throws CallFailed with `what`, MPI's own text and the code unless `mpi_error` is MPI_SUCCESS.
/// Local.
void check(int mpi_error, std::string_view what);

/// The one place where a count, rank or displacement narrows to MPI's int. Local. Throws
/// InvalidArgument that names the value, `what` and the range when the value does not fit. Payloads
/// of any length do not come here as bytes: they travel as one element of Datatype::payload.
int to_int(Index value, std::string_view what);

}  // namespace fluvial::mpi
