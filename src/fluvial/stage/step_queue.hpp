// SPDX-License-Identifier: Apache-2.0
/// The life of a step in the queue. Each function is one transition under the control lock, which
/// the caller holds; none waits. A step goes Filling → Complete → Free, or Filling → Discarded →
/// Free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// A step that a writer rank has begun.
struct Admission {
    int slot = -1;
    bool accepted = false;  ///< false: discarded by policy; nothing of it is kept
    bool spilled = false;   ///< it goes to the disk as a whole
};

/// Begins `step` on one writer rank; the first rank to come decides for all by the queue's policy.
/// None: the queue is full and the policy says to wait.
std::optional<Admission> admit(const ControlBlock& control, std::uint64_t step);

enum class Grant { Given, Wait, Discarded, NeverFits, Spill };

/// Asks for `bytes` of the byte limit for a chunk of the step in `slot`. Discarded: the policy gave
/// up the step. Spill: the chunk goes to the disk. Ranks that run ahead do not block the oldest
/// unfinished step: its chunks are granted without regard to younger unfinished steps, so that
/// memory can reach twice queue_bytes, and never more.
Grant grant_bytes(const ControlBlock& control, int slot, std::uint64_t bytes);

/// False when a chunk of `bytes` would be NeverFits.
bool can_fit(const ControlBlock& control, int slot, std::uint64_t bytes);

/// Compares the dataset with what other ranks said of it in this step. Returns what is noted of it
/// for ranks that come later; null where it has been noted before. Throws InvalidArgument when
/// they differ.
Signature* check_signature(const ControlBlock& control, int slot, int rank, std::string_view name,
                           DType dtype, const Coordinates& shape);
/// What was noted under this lock does not hold: `noted` in the order in which it was.
void forget_signatures(std::span<Signature* const> noted);

/// One writer rank has finished the step; the last one publishes it, or frees it when it was given
/// up. Returns true when the step became available to readers: the caller rings their bell after it
/// has released the lock, for which they ask at once. `log`: of a stream that has steps on a disk.
bool finish_writing(const ControlBlock& control, int slot, int rank, const RecordPlace& record,
                    bool spoiled, const StepLog* log = nullptr);

/// The step in `slot` is not kept, for its readers' reasons or the disk's.
void give_up(const ControlBlock& control, int slot);

/// The next step of a reader rank: in a slot, on which it takes a lease, or on the disk.
struct Taken {
    int slot = -1;
    std::optional<LogEntry> logged{};
    bool others_lag = false;  ///< nothing for now: other ranks of the group are too far behind
    bool gone = false;        ///< nothing ever, of the step that was asked for (given_steps.hpp)
    bool any() const { return slot >= 0 || logged; }
};
Taken take(const ControlBlock& control, int cell, const StepLog* log);

/// The slot of the next step of a stream that has none on a disk, or -1 when there is none yet.
inline int take(const ControlBlock& control, int cell) {
    return take(control, cell, nullptr).slot;
}

/// This reader rank has finished with the step (it may keep views, unless it `releases` its lease).
void finish_reading(const ControlBlock& control, int cell, int slot, bool releases = false);
/// The same of a step that it has read from the disk.
void finish_logged(const ControlBlock& control, int cell);

/// This reader rank has dropped its last view of the step.
void release_lease(const ControlBlock& control, int cell, int slot);

/// Frees the slot if no reader needs or views it.
void free_if_done(const ControlBlock& control, int slot);

/// Steps that occupy the queue: being written, or complete and not yet finished by all that want
/// them.
int queue_depth(const ControlBlock& control);

/// Bytes that count towards the limit: all but those of steps that only evicted readers still view.
std::uint64_t bytes_in_use(const ControlBlock& control);

/// The reader that holds the queue up, for the message of a time-out.
std::string describe_holders(const ControlBlock& control);

/// Where a joining group begins.
struct Begin {
    Begin(Start start_ = Start::Oldest, std::uint64_t step_ = 0,
          std::optional<FullPolicy> full_ = {})
        : start(start_), step(step_), full(full_) {}
    Start start;
    std::uint64_t step;              ///< for Start::At
    std::optional<FullPolicy> full;  ///< a policy of its own (yielding_groups.hpp)
};

/// The complete step that a joining group begins with; marks the steps from there on as needed by
/// it.
void subscribe(const ControlBlock& control, int group, const Begin& begin,
               const StepLog* log = nullptr);

/// Where steps are shared out: the one in a slot that the group `gone` was to get, or had begun,
/// goes to the others; where there are none, it waits for the next job that comes.
void hand_on(const ControlBlock& control, int slot, int gone);

/// The group wants no further steps.
void unsubscribe(const ControlBlock& control, int group);

}  // namespace fluvial::stage
