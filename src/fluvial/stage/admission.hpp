// SPDX-License-Identifier: Apache-2.0
/// How a reader rank is given its place in the control block, whichever way it came.
#pragma once

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handshake.hpp"

namespace fluvial::stage {

/// Throws InvalidArgument when no reader rank can say this, or what it wants is not kept.
void check_admissible(const ControlBlock& control, const AttachRequest& request);
/// A cell, and a group for the first rank of a job. Takes the control lock. Throws InvalidArgument,
/// Error (no place is free), PeerLost (the job is not joining any more).
AttachReply admit_reader(const ControlBlock& control, const StepLog* log,
                         const AttachRequest& request);

}  // namespace fluvial::stage
