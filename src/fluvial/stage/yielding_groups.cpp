// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/yielding_groups.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/stage/slot_state.hpp"

namespace fluvial::stage {
namespace {

/// Complete, in the queue, and wanted by no group that the writer waits for.
bool only_yielding_want(const ControlBlock& control, int index) {
    const Slot& slot = control.slots()[index];
    return state_of(slot) == SlotState::Complete && queued(control, slot) &&
           needed_by_yielding_alone(control, slot);
}

/// Out of the queue, and kept for a group for which the writer never waits.
bool is_kept_beside(const ControlBlock& control, int index) {
    const Slot& slot = control.slots()[index];
    if (state_of(slot) != SlotState::Complete || queued(control, slot) || held(control, index)) {
        return false;
    }
    if (needed(slot)) {
        return true;
    }
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        const GroupCell& group = control.group(static_cast<int>(cell.group));
        if (has_lease(cell, index) && !has_claims(group)) {
            return true;
        }
    }
    return false;
}

/// Not begun, of a group of DiscardNewest: the step may stay beside the queue for it.
bool may_stay(const ControlBlock& control, const Slot& slot, const KeptBeside& kept) {
    return kept.steps < kept_steps_max(control) &&
           kept.bytes + slot.bytes <= control.header().queue_bytes;
}

}  // namespace

void check_policy(const ControlBlock& control, std::int32_t number) {
    const ControlHeader& header = control.header();
    if (number < 0 || static_cast<FullPolicy>(number) == header.full) {
        return;
    }
    const auto full = static_cast<FullPolicy>(number);
    const std::string said =
        text("full='", name_of(full), "' of a stream with ",
             header.steps_to != StepsTo::All ? text("steps_to='", name_of(header.steps_to), "'")
                                             : text("full='", name_of(header.full), "'"));
    if (header.steps_to != StepsTo::All) {
        throw InvalidArgument(Problem{"readers that share steps have no policies of their own",
                                      said, "steps_to='all'", "Leave full out in the reader"});
    }
    if (full == FullPolicy::Block) {
        throw InvalidArgument(Problem{"a reader cannot make the writer wait", said,
                                      "what the writer does itself, or one that discards",
                                      "Give the writer full='block'"});
    }
    if (full == FullPolicy::Spill && header.retains == 0) {
        throw InvalidArgument(
            Problem{"the stream keeps no steps on a disk for this reader", said,
                    "a writer with full='spill' or retain, or 'discard-oldest', 'discard-newest'",
                    "Give the writer the option retain, or full='spill'"});
    }
}

void set_policy(const ControlBlock& control, GroupCell& group, std::optional<FullPolicy> full) {
    group.full = full.value_or(control.header().full);
    group.yields = group.full != control.header().full && group.observes == 0 ? 1 : 0;
}

bool push_out(const ControlBlock& control, Room room) {
    int oldest = -1;
    const auto slots = control.slots();
    for (int i = 0; i < slot_count(control); ++i) {
        if (only_yielding_want(control, i) && (room == Room::ForStep || !held(control, i)) &&
            (oldest < 0 || slots[i].step.load(relaxed) < slots[oldest].step.load(relaxed))) {
            oldest = i;
        }
    }
    if (oldest < 0) {
        return false;
    }
    Slot& slot = slots[oldest];
    const KeptBeside kept = kept_beside(control);
    for (int g = 0; g < groups_max; ++g) {
        GroupCell& group = control.group(g);
        if (slot.need[g] == 0 || has_begun(slot, g) ||
            (group.full == FullPolicy::DiscardNewest && may_stay(control, slot, kept))) {
            continue;
        }
        slot.need[g] = 0;
        group.steps_discarded += group.full == FullPolicy::Spill ? 0 : 1;
    }
    const bool stays = needed(slot) || leased(control, oldest);
    control.header().counters.steps_unread += !stays && slot.viewed_once == 0 ? 1 : 0;
    slot.viewed_once = 1;
    slot.dropped = 1;
    left_the_queue(control, slot);
    if (!stays) {
        make_free(control, slot);
    }
    return true;
}

bool keeps_older(const ControlBlock& control, int g) {
    const GroupCell& group = control.group(g);
    if (group.yields == 0 || group.full != FullPolicy::DiscardNewest) {
        return false;
    }
    const auto slots = control.slots();
    return std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
        return state_of(slot) == SlotState::Complete && slot.dropped != 0 && slot.need[g] != 0 &&
               !has_begun(slot, g);
    });
}

void pass_over(const ControlBlock& control, std::uint64_t step) {
    for (int g = 0; g < groups_max; ++g) {
        GroupCell& group = control.group(g);
        if (subscribed(group) && memory_alone(group) && group.next_step <= step) {
            ++group.steps_discarded;
        }
    }
}

KeptBeside kept_beside(const ControlBlock& control) {
    KeptBeside kept;
    for (int i = 0; i < slot_count(control); ++i) {
        if (is_kept_beside(control, i)) {
            ++kept.steps;
            kept.bytes += control.slots()[i].bytes;
        }
    }
    return kept;
}

int kept_steps_max(const ControlBlock& control) {
    const int slots = slot_count(control);
    return slots - static_cast<int>(control.header().queue_steps) - slots / 4 - 1;
}

}  // namespace fluvial::stage
