// SPDX-License-Identifier: Apache-2.0
/// Which ranks take part in a stream, and what is done about ranks that die, stop or leave. Each
/// function is one transition under the control lock, which the caller holds.
#pragma once

#include <string>

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

/// A place for a reading job of `size` ranks; steps are kept for it from now on. Throws Error when
/// all places are taken.
int open_group(const ControlBlock& control, int size, const Begin& begin,
               const StepLog* log = nullptr);

/// Takes back open_group for a group that no rank has a cell of.
void close_group(const ControlBlock& control, int group);

/// A cell for one rank of a group, which it must then take with activate_reader. Throws Error when
/// none is free.
int open_reader(const ControlBlock& control, int group, int rank, std::uint32_t pid);

/// The last rank of a group to come makes it active.
void activate_reader(const ControlBlock& control, int cell);

/// The rank takes no further steps. Steps that its group has taken and it has not read are given
/// up.
void leave(const ControlBlock& control, int cell);

/// Frees the cell of a rank that has left and holds no lease any more. The caller gives its alive
/// lock up in the same critical section, before another process can be given the cell.
void vacate(const ControlBlock& control, int cell);

/// The rank is gone, with what it had; unless it had left before, its whole job gets no further
/// steps. `why` follows on "rank 0 of this reader (process 123)". Its alive lock is gone, too, or
/// is given up in the same critical section.
void lose_reader(const ControlBlock& control, int cell, const std::string& why);

/// Looks for participants that are dead (their alive lock is gone) or give no heartbeat: dead
/// readers lose their leases and their group is broken; stalled readers are evicted if the policy
/// says so; a dead writer fails the stream. Costs one system call a participant.
void reap(const ControlBlock& control);

/// The rank that serves readers on other hosts has died, and the one that stands by is about to
/// take them over: they count as alive until then.
bool is_taken_over(const ControlBlock& control);

/// Why a writer rank cannot be expected to finish its steps soon: "writer rank 2 (process 123) has
/// given no heartbeat for 12.1 s"; empty when all are well.
std::string stalled_writer(const ControlBlock& control, double stall_timeout_s);

/// Marks the stream as failed for both sides; the first failure is kept.
void fail(const ControlBlock& control, const std::string& kind, const std::string& message);

/// This writer rank is done. Fails the stream when other ranks, here or elsewhere, have steps that
/// it will not finish.
void close_writer(const ControlBlock& control, int rank);

/// Before a rank begins `step`: fails the stream when another has closed without it, since no
/// reader would ever get it.
void expect_all_writers(const ControlBlock& control, std::uint64_t step);

/// Steps that each rank on this host has written or given up.
std::uint64_t steps_of_all_writers(const ControlBlock& control);

/// All ranks of the writer on another host have closed after `steps`: fails the stream when ranks
/// here have begun more.
void close_elsewhere(const ControlBlock& control, std::uint64_t steps);

/// Reader jobs that have all their ranks and have not left, observers not counted.
int active_groups(const ControlBlock& control);

}  // namespace fluvial::stage
