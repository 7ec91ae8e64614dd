// SPDX-License-Identifier: Apache-2.0
/// What the ranks of a redistribution tell each other.
#pragma once

#include <span>
#include <vector>

#include "fluvial/distribute/redistribute.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::move {

/// By rank; those of a rank in the order in which it declared them.
struct DeclaredShares {
    std::vector<distribute::Share> held, wanted;
};

/// What all ranks have and want of an array of `ndim` axes. Collective, blocking: an allgather of
/// 16 bytes an axis and box.
DeclaredShares declared_by_all(const mpi::Comm& comm, int ndim, std::span<const Region> has,
                               std::span<const Region> wants);

}  // namespace fluvial::move
