// SPDX-License-Identifier: Apache-2.0
/// Duplicates that stay with the communicator that they were made of, for calls that come again and
/// again: to make one takes longer than a small message.
#pragma once

#include <memory>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// As Comm::from_fortran, but made only by the first call for a communicator; freed when that is
/// freed. Collective and blocking at the first call, later ones are local. What is sent over it is
/// received when a call returns, or else the call says lose(). Throws as Comm::from_fortran, and
/// InvalidArgument after lose().
std::shared_ptr<Comm> kept_duplicate(long handle);

/// An operation on the duplicate was broken off, and messages may be left in it: no further call
/// gets it. Local.
void lose(Comm& kept);

/// What Kept::end() does with a communicator that is kept.
void end_with_user(Comm& comm, bool mpi_ends) noexcept;

}  // namespace fluvial::mpi
