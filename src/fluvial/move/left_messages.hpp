// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {

/// After an exchange: whether messages may be left in `comm` on any rank. Collective, blocking; a
/// rank that waits serves. Others may move data for long after this rank's has come, and one of
/// them may have failed: after ten times `stall_timeout_s` it throws TimedOut.
inline bool leaves_messages(const mpi::Comm& comm, const Moved& moved, double stall_timeout_s) {
    constexpr double patience = 10;
    const progress::Lookout limited(progress::time_limit(
        patience * stall_timeout_s, "Fluvial could not learn how an exchange has ended elsewhere"));
    return comm.any(moved.leaves_messages);
}

}  // namespace fluvial::move
