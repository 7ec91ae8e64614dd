// SPDX-License-Identifier: Apache-2.0
/// Communicators as they cross from Python.
#pragma once

#include <optional>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::python {

/// The user's communicator by its Fortran handle, duplicated; none: serial.
inline mpi::Comm to_comm(std::optional<long> handle) {
    return handle ? mpi::Comm::from_fortran(*handle) : mpi::Comm();
}

}  // namespace fluvial::python
