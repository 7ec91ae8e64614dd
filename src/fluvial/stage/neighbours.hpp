// SPDX-License-Identifier: Apache-2.0
/// The ranks of a reading job that are on one host, and what they share there.
#pragma once

#include <memory>

#include "fluvial/move/shared_claims.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::stage {

/// What this rank shares with those of its host that want to (`wants`), too; null where it is the
/// only one, or cannot see their memory. Collective, blocking; an allgather, and another one where
/// some ranks share. Another collective call comes before anything is read.
std::shared_ptr<move::SharedClaims> share_with_neighbours(const mpi::Comm& comm, bool wants);

}  // namespace fluvial::stage
