// SPDX-License-Identifier: Apache-2.0
/// Reading jobs whose policy for a full queue is not the writer's (ReaderOptions::full): the writer
/// does not wait for them, nor do they take room from other jobs.
///
/// | the queue is full, and of a step that they alone want | what becomes of it                  |
/// |--------------------------------------------------------|-------------------------------------|
/// | some rank has begun it                                 | it leaves the queue; its memory     |
/// |                                                        | stays until they let it go          |
/// | discard-oldest, not begun                              | they lose it                        |
/// | discard-newest, not begun                              | it leaves the queue, as long as     |
/// |                                                        | there is memory beside that; until  |
/// |                                                        | they have begun it they get no      |
/// |                                                        | later ones                          |
/// | spill, not begun                                       | they read it from the disk, where   |
/// |                                                        | it is retained                      |
///
/// Those that discard pass over steps that lie on a disk alone. Each function is one transition
/// under the control lock, which the caller holds.
#pragma once

#include "fluvial/stage/control_block.hpp"

namespace fluvial::stage {

/// Throws InvalidArgument where the writer does not allow that policy. `full`: of an AttachRequest.
void check_policy(const ControlBlock& control, std::int32_t full);

/// The group's policy.
void set_policy(const ControlBlock& control, GroupCell& group, std::optional<FullPolicy> full);

/// What is short: a place in the queue, or bytes, which those of a step are not as long as a reader
/// views them for which the writer waits.
enum class Room { ForStep, ForBytes };

/// Room in the queue by the oldest step that yielding groups alone want; false where there is none.
bool push_out(const ControlBlock& control, Room room);

/// A group of DiscardNewest that has older steps to begin, which have left the queue: it does not
/// get one that is complete now.
bool keeps_older(const ControlBlock& control, int group);

/// A step has gone to the disk alone: groups that discard do not get it.
void pass_over(const ControlBlock& control, std::uint64_t step);

/// Memory beside the queue that readers keep for which the writer does not wait.
struct KeptBeside {
    int steps = 0;
    std::uint64_t bytes = 0;
};
KeptBeside kept_beside(const ControlBlock& control);

/// So many steps at most is a rank of such a group ahead of another: what they have begun stays in
/// memory until all have read it.
inline constexpr std::uint64_t yielding_ahead_max = 8;

/// So many at most, that the writer has places for its queue, and for steps that it discards.
int kept_steps_max(const ControlBlock& control);

}  // namespace fluvial::stage
