// SPDX-License-Identifier: Apache-2.0
/// The clocks of hosts, which begin when they were started.
#pragma once

#include <cstdint>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// What to add to this rank's clock for that of rank 0. Collective, blocking; some messages between
/// each rank and rank 0, of which the fastest exchange counts. `clock_ns` never goes back.
std::int64_t clock_offset(const Comm& comm, std::int64_t (*clock_ns)());

}  // namespace fluvial::mpi
