// SPDX-License-Identifier: Apache-2.0
/// Receives into memory that the caller has.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// The next message from `source` with `tag`, which has as many bytes as `memory` (past 2 GiB too);
/// one that is longer is a SystemError of the Request. `owner` keeps the memory until the Request
/// is complete. Local. Throws InvalidArgument as Comm::recv does.
Request receive_into(const Comm& comm, std::span<std::byte> memory,
                     std::shared_ptr<const void> owner, int source, int tag);

}  // namespace fluvial::mpi
