// SPDX-License-Identifier: Apache-2.0
/// The steps of a stream that are on a disk, as its participants count them. Each function is one
/// transition under the control lock, which the caller holds; none waits for a peer.
///
/// Readers take the steps of the queue and those of the disk in one order, that of the steps. A
/// spilled step never has a place in the queue: it has a slot while it is written, and an entry of
/// the log from then on. Its bytes go back to the disk when every group that might want it has
/// finished it. A retained step has an entry whether it is queued or not, and keeps its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// Where `bytes` of the step in `slot` go; none when that would be more than spill_bytes.
std::optional<std::uint64_t> reserve(const ControlBlock& control, int slot, std::uint64_t bytes);

/// What a rank's record of so many bytes takes: behind it lies room for the list of all ranks'
/// records, which the last of them writes there.
std::uint64_t bytes_with_list(const ControlBlock& control, std::uint64_t record);

/// A record and that room, to be written at `offset`. The only rank of a writer knows the list, and
/// has it there at once.
struct RecordOnDisk {
    Bytes bytes;
    BytesOfFile record;
};
RecordOnDisk with_list(const ControlBlock& control, const Bytes& record, std::uint64_t offset);

/// The last rank, whose record lies at `mine`, gives the step in `slot` its entry. False: the disk
/// is full.
bool commit(const ControlBlock& control, const StepLog& log, int slot, const BytesOfFile& mine);

/// The entry of the next step that a group wants, if it is on the disk.
std::optional<LogEntry> next_logged(const ControlBlock& control, const StepLog& log, int group);

/// The entry of `step`, which a group has taken.
LogEntry logged(const ControlBlock& control, const StepLog& log, std::uint64_t step);

/// The first step that is still on the disk for a group that begins, from `least` on.
std::optional<std::uint64_t> first_logged(const ControlBlock& control, const StepLog& log,
                                          std::uint64_t least);

/// Data of the log that no reader will want any more, and that the caller gives back to the disk.
struct FreedBytes {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};
/// `also_unread`: steps that no reader ever began go, too, unless a group waits for them.
/// `oldest` remembers the entry that was looked at last, and its number: most often it is the same
/// again.
using RememberedEntry = std::optional<std::pair<std::uint64_t, LogEntry>>;
FreedBytes free_logged(const ControlBlock& control, const StepLog& log, bool also_unread,
                       RememberedEntry& oldest);

/// Gives up the oldest spilled step; false when there is none, or a group has it in its hands.
bool drop_oldest_logged(const ControlBlock& control, const StepLog& log);

}  // namespace fluvial::stage
