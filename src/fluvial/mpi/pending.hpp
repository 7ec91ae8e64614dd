// SPDX-License-Identifier: Apache-2.0
/// What a rank waits for, shown to code that waits by other means than looking again and again.
#pragma once

#include <mpi.h>

namespace fluvial::mpi {

/// An operation in flight. It may be completed by MPI_Waitany or its like: then `request` is
/// MPI_REQUEST_NULL, and its owner reads `status`, unless that is null, when it looks next.
struct Pending {
    MPI_Request* request = nullptr;
    MPI_Status* status = nullptr;
};

}  // namespace fluvial::mpi
