// SPDX-License-Identifier: Apache-2.0
/// Steps that are shared out by a writer on several hosts. The queue of its first host says which
/// reading job gets a step, as that of a writer on one host does. The queues of the others follow
/// it: a job asks there for the steps that the first host has given it, by their numbers, and
/// what the first host is done with leaves them. As in step_queue.hpp, each function is one
/// transition under the control lock, and none waits.
#pragma once

#include <cstdint>
#include <vector>

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

/// Steps of the first host: all that it has begun are over, however they ended, but these.
struct OpenSteps {
    std::uint64_t begun = 0;
    std::vector<std::uint64_t> open;  ///< ascending
};

/// Those of a queue that others follow.
OpenSteps open_steps(const ControlBlock& control);
/// Some are over now that were not before, or had not begun.
bool some_ended(const OpenSteps& before, const OpenSteps& now);

/// Of a queue that follows: what is over on the first host, and that no job has begun here, leaves
/// the queue.
void settle(const ControlBlock& control, const OpenSteps& first_host);
/// The same of the step in one slot, which may be over there since.
void leave_if_settled(const ControlBlock& control, int slot);

}  // namespace fluvial::stage
