// SPDX-License-Identifier: Apache-2.0
/// Communicators of some ranks of another, made without the others' help.
#pragma once

#include <vector>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Makes them by MPI_Comm_create_group on a private duplicate, which carries no messages between
/// two ranks: with Open MPI 4.1 that call hangs when its tag is that of a message under way on the
/// same communicator.
///
/// Ranks that take part in several must make them in the same order, or they wait for each other.
/// MPI has a limited number of communicators (2,046 a process with MPICH, 65,532 with Open MPI):
/// keep them and use them again.
class Teams {
  public:
    /// Collective over `parent`, blocking; one duplicate.
    explicit Teams(const Comm& parent);

    /// The communicator of these ranks of the parent, in this order; the calling rank is one of
    /// them. Collective over them, blocking without an end if one does not come; to be closed.
    /// Throws InvalidArgument for no ranks, one that is none, or one that stands there twice.
    Comm make(const std::vector<int>& ranks) const;
    /// Collective over the parent.
    void close() { parent_.close(); }
    /// See Comm::abandon().
    void abandon() noexcept { parent_.abandon(); }

  private:
    Comm parent_;
};

}  // namespace fluvial::mpi
