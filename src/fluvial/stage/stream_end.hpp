// SPDX-License-Identifier: Apache-2.0
/// Why a reader gets no further step.
#pragma once

#include <string>

#include "fluvial/stage/control_block.hpp"

namespace fluvial::stage {

/// There will be no further step for the reader rank in `cell`, after take() gave it none. Throws
/// why, where that is an error: PeerStalled (a writer rank has given no heartbeat for
/// `stall_timeout_s`, or this reader was evicted), PeerLost (another rank of the reader has gone),
/// or what the stream failed with. Under the control lock.
bool at_end(const ControlBlock& control, int cell, double stall_timeout_s);

}  // namespace fluvial::stage
