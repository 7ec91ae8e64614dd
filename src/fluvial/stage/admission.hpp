// SPDX-License-Identifier: Apache-2.0
/// How a reader rank is given its place in the control block, whichever way it came.
#pragma once

#include <cstdint>

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handshake.hpp"

namespace fluvial::stage {

/// Where the process has no descriptor for a reader that comes: how long until it accepts again.
inline constexpr std::int64_t shortage_pause_ns = 20'000'000;

/// Throws InvalidArgument when no reader rank can say this, or what it wants is not kept.
void check_admissible(const ControlBlock& control, const AttachRequest& request);
/// A cell, and a group for the first rank of a job. Takes the control lock. Throws InvalidArgument,
/// Error (no place is free), PeerLost (the job is not joining any more).
AttachReply admit_reader(const ControlBlock& control, const StepLog* log,
                         const AttachRequest& request);

}  // namespace fluvial::stage
