// SPDX-License-Identifier: Apache-2.0
/// Messages whose receivers do not know that they will come.
#pragma once

#include <cstddef>
#include <vector>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// A message to `rank`, or from it.
struct Addressed {
    int rank = 0;
    std::vector<std::byte> bytes;
};

/// Delivers `messages`, at most one to each rank, and returns those for this rank, ascending by
/// where they come from. Collective, blocking. Each message goes straight to its receiver; beside
/// that a barrier, log2(P) empty messages a rank: neither time nor memory grows with P otherwise.
/// Two exchanges with one tag need a call between them in which every rank waits for all others
/// (an allreduce, an agree), or a message of the second may be taken for one of the first. Throws
/// InvalidArgument for a rank or tag out of range, SystemError. Source: T. Hoefler, C. Siebert,
/// A. Lumsdaine, doi:10.1145/1693453.1693476.
std::vector<Addressed> sparse_exchange(const Comm& comm, std::vector<Addressed> messages, int tag);

}  // namespace fluvial::mpi
