// SPDX-License-Identifier: Apache-2.0
/// Steps that are shared out by a writer on several hosts. The queue of its first host says which
/// reading job gets a step, as that of a writer on one host does. The queues of the others follow
/// it: a job asks there for the steps that the first host has given it, by their numbers, and
/// what the first host is done with leaves them. As in step_queue.hpp, each function is one
/// transition under the control lock, and none waits.
#pragma once

#include <cstdint>

#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

/// From here on the queue follows that of another host, where steps are shared out.
void follow_first_host(const ControlBlock& control);

/// The rank's job gets some of the steps, and others the rest.
bool shares_out(const ControlBlock& control, int cell);

/// The `step` that this rank's job was given by the first host. `gone`: it is not here, and will
/// not come. The first host's word is the last: where another job has begun the step here, which
/// has lost its place there, both get it.
Taken take_given(const ControlBlock& control, int cell, std::uint64_t step);

/// Of a queue that others follow: all steps before are over, however they ended.
std::uint64_t settled_end(const ControlBlock& control);

/// Of one that follows: steps before `end` are over on the first host. Those that no job has begun
/// here leave the queue.
void settle(const ControlBlock& control, std::uint64_t end);
/// The same of the step in one slot, which may be over there since.
void leave_if_settled(const ControlBlock& control, int slot);

}  // namespace fluvial::stage
