// SPDX-License-Identifier: Apache-2.0
/// What can be said of a slot, and how it becomes free: of concern to step_queue.cpp, which is
/// about writers, and step_taking.cpp, which is about readers.
#pragma once

#include <algorithm>

#include "fluvial/stage/control_block.hpp"

namespace fluvial::stage {

inline constexpr auto relaxed = std::memory_order_relaxed;

inline int slot_count(const ControlBlock& control) {
    return static_cast<int>(control.header().slots);
}

inline SlotState state_of(const Slot& slot) {
    return slot.state.load(relaxed);
}

inline bool needed(const Slot& slot) {
    return std::any_of(std::begin(slot.need), std::end(slot.need),
                       [](std::uint32_t ranks) { return ranks != 0; });
}

inline bool has_begun(const Slot& slot, int group) {
    return ((slot.begun >> group) & 1u) != 0;
}

/// The group has taken it, and not all of its ranks have finished with it.
inline bool in_hands_of(const Slot& slot, int group) {
    return slot.need[group] != 0 && has_begun(slot, group);
}

inline bool in_hands(const Slot& slot) {
    for (int g = 0; g < groups_max; ++g) {
        if (in_hands_of(slot, g)) {
            return true;
        }
    }
    return false;
}

/// All ranks of the group are to take the step, whichever group had its place before.
inline void is_needed_by(Slot& slot, int group, std::uint32_t ranks) {
    slot.need[group] = ranks;
    slot.begun &= ~(1u << group);
    slot.seen &= ~(1u << group);
}

inline bool leased(const ControlBlock& control, int slot) {
    for (std::uint32_t cell = 0; cell < control.header().readers_high; ++cell) {
        if (has_lease(control.reader(static_cast<int>(cell)), slot)) {
            return true;
        }
    }
    return false;
}

/// The group is no observer, and has no policy of its own: as long as it has its place, the writer
/// waits for it.
inline bool has_claims(const GroupCell& group) {
    return group.observes == 0 && group.yields == 0;
}

/// The writer waits until the group's ranks have read a step, and release its memory.
inline bool waited_for(const GroupCell& group) {
    return group.state != GroupState::Evicted && has_claims(group);
}

/// Needed by groups alone for which the writer does not wait.
inline bool needed_by_yielding_alone(const ControlBlock& control, const Slot& slot) {
    bool some = false;
    for (int g = 0; g < groups_max; ++g) {
        if (slot.need[g] != 0) {
            if (waited_for(control.group(g))) {
                return false;
            }
            some = true;
        }
    }
    return some;
}

/// The group gets no steps that lie on a disk alone.
inline bool memory_alone(const GroupCell& group) {
    return group.yields != 0 && discards(group.full);
}

/// Leased by a reader that is waited for.
inline bool held(const ControlBlock& control, int slot) {
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        if (has_lease(cell, slot) && waited_for(control.group(static_cast<int>(cell.group)))) {
            return true;
        }
    }
    return false;
}

/// One of the newest complete steps, which stay for readers that come late.
inline bool reserved(const ControlBlock& control, const Slot& slot) {
    return state_of(slot) == SlotState::Complete && slot.dropped == 0 &&
           slot.step.load(relaxed) + control.header().reserve >=
               control.header().counters.complete_end;
}

/// Occupies a place of the queue. A complete step that no reader has wanted yet waits for a late
/// reader.
inline bool queued(const ControlBlock& control, const Slot& slot) {
    return (state_of(slot) == SlotState::Filling && slot.spilled == 0) ||
           (state_of(slot) == SlotState::Complete && slot.dropped == 0 &&
            (needed(slot) || slot.viewed_once == 0 || reserved(control, slot)));
}

inline void left_the_queue(const ControlBlock& control, const Slot& slot) {
    std::uint64_t& end = control.header().counters.gone_end;
    end = std::max(end, slot.step.load(relaxed) + 1);
}

inline void make_free(const ControlBlock& control, Slot& slot) {
    if (state_of(slot) == SlotState::Complete) {
        left_the_queue(control, slot);
    }
    slot.bytes = 0;
    slot.state.store(SlotState::Free, std::memory_order_release);
    control.header().space_bell.ring();
}

/// The group wants the steps that come.
inline bool subscribed(const GroupCell& group) {
    return group.observes == 0 &&
           (group.state == GroupState::Active || group.state == GroupState::Joining);
}

/// Only one of the groups that would get the step does: the next in turn.
inline void give_to_one(const ControlBlock& control, Slot& slot) {
    std::uint32_t& turn = control.header().turn;
    for (std::uint32_t after = 1; after <= groups_max; ++after) {
        const std::uint32_t g = (turn + after) % groups_max;
        if (slot.need[g] != 0) {
            const std::uint32_t ranks = slot.need[g];
            std::fill(std::begin(slot.need), std::end(slot.need), 0u);
            slot.need[g] = ranks;
            turn = g;
            return;
        }
    }
}

/// A rank takes a lease on a step that its group has been given.
inline void begin_reading(const ControlBlock& control, int cell, int index) {
    ReaderCell& reader = control.reader(cell);
    Slot& slot = control.slots()[index];
    set_lease(reader, index);
    slot.viewed_once = 1;
    slot.begun |= 1u << reader.group;
    ++reader.steps_taken;
}

/// The group has been given the step.
inline void note_taken(GroupCell& group, std::uint64_t step) {
    group.taken[group.steps_taken % slots_max] = step;
    group.next_step = std::max(group.next_step, step + 1);
    ++group.steps_taken;
}

}  // namespace fluvial::stage
