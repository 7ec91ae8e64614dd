// SPDX-License-Identifier: Apache-2.0
/// How reading jobs come to their steps, and give them back.
#include <algorithm>
#include <limits>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/logged_steps.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/yielding_groups.hpp"

namespace fluvial::stage {
namespace {

/// Steps that the slowest rank of a group has finished.
std::uint64_t least_finished(const ControlBlock& control, int group) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        if (cell.state == MemberState::Active && static_cast<int>(cell.group) == group) {
            least = std::min(least, cell.steps_finished);
        }
    }
    return least;
}

/// Readers for which the writer does not wait keep as many steps beside the queue as they may.
bool too_many_are_kept(const ControlBlock& control) {
    const KeptBeside kept = kept_beside(control);
    return kept.steps >= kept_steps_max(control) || kept.bytes > control.header().queue_bytes;
}

[[noreturn]] void throw_too_many_are_kept(const ControlBlock& control) {
    const KeptBeside kept = kept_beside(control);
    throw Error(Problem{"readers for which the writer does not wait keep too many of its steps",
                        text(kept.steps, " steps, ", kept.bytes, " bytes"),
                        text("fewer than ", kept_steps_max(control), " steps, and at most ",
                             control.header().queue_bytes, " bytes, as queue_bytes says"),
                        "Let arrays of earlier steps go, or copy them"});
}

/// The newest complete step for a reader that looks on, or -1; to the others it is as if it had not
/// been taken.
int observe(const ControlBlock& control, ReaderCell& reader, GroupCell& group) {
    const auto slots = control.slots();
    int newest = -1;
    for (int i = 0; i < slot_count(control); ++i) {
        if (state_of(slots[i]) == SlotState::Complete &&
            slots[i].step.load(relaxed) >= group.next_step &&
            (newest < 0 || slots[i].step.load(relaxed) > slots[newest].step.load(relaxed))) {
            newest = i;
        }
    }
    if (newest >= 0) {
        if (too_many_are_kept(control)) {
            throw_too_many_are_kept(control);
        }
        set_lease(reader, newest);
        group.next_step = slots[newest].step.load(relaxed) + 1;
        ++group.steps_taken;
        ++reader.steps_taken;
    }
    return newest;
}

/// A complete step that the group is to get next. Where steps are shared out, one may come to it
/// that is older than those it has had: of a group that died.
bool is_for(const ControlBlock& control, const Slot& slot, int g) {
    return state_of(slot) == SlotState::Complete && slot.need[g] != 0 && !has_begun(slot, g) &&
           (control.header().steps_to != StepsTo::All ||
            slot.step.load(relaxed) >= control.group(g).next_step);
}

}  // namespace

Taken take(const ControlBlock& control, int cell, const StepLog* log) {
    ReaderCell& reader = control.reader(cell);
    const int g = static_cast<int>(reader.group);
    GroupCell& group = control.group(g);
    const auto slots = control.slots();
    if (group.state != GroupState::Active && group.state != GroupState::Leaving) {
        return {};
    }
    if (group.observes != 0) {
        return {observe(control, reader, group)};
    }
    if (reader.steps_taken < group.steps_taken) {
        const std::uint64_t step = group.taken[reader.steps_taken % slots_max];
        for (int i = 0; i < slot_count(control); ++i) {
            if (state_of(slots[i]) == SlotState::Complete && slots[i].step.load(relaxed) == step) {
                begin_reading(control, cell, i);
                return {i};
            }
        }
        if (log == nullptr) {
            throw Error(
                text("step ", step, ", which other ranks of this reader have taken, is gone"));
        }
        const Taken taken{-1, logged(control, *log, step)};
        ++reader.steps_taken;
        return taken;
    }
    if (group.state != GroupState::Active || control.header().follows != 0) {
        return {};
    }
    int next = -1;
    for (int i = 0; i < slot_count(control); ++i) {
        if (is_for(control, slots[i], g) &&
            (next < 0 || slots[i].step.load(relaxed) < slots[next].step.load(relaxed))) {
            next = i;
        }
    }
    auto on_disk =
        log != nullptr && !memory_alone(group) ? next_logged(control, *log, g) : std::nullopt;
    if (next >= 0 && on_disk && slots[next].step.load(relaxed) <= on_disk->step) {
        on_disk.reset();
    }
    if (next < 0 && !on_disk) {
        return {};
    }
    const std::uint64_t lag = group.size > 1 ? group.steps_taken - least_finished(control, g) : 0;
    if (lag >= (group.yields != 0 ? yielding_ahead_max : slots_max)) {
        return {.others_lag = true};
    }
    if (!on_disk && group.yields != 0 && too_many_are_kept(control)) {
        if (lag != 0) {
            return {.others_lag = true};  // and keep what this one has left
        }
        throw_too_many_are_kept(control);
    }
    const std::uint64_t step = on_disk ? on_disk->step : slots[next].step.load(relaxed);
    note_taken(group, step);
    if (next >= 0 && !on_disk && control.header().steps_to == StepsTo::OnDemand) {
        const std::uint32_t ranks = slots[next].need[g];
        std::fill(std::begin(slots[next].need), std::end(slots[next].need), 0u);
        slots[next].need[g] = ranks;
    }
    control.header().counters.taken_end = std::max(control.header().counters.taken_end, step + 1);
    if (!on_disk) {
        begin_reading(control, cell, next);
        return {next};
    }
    ++reader.steps_taken;
    return {-1, on_disk};
}

void free_if_done(const ControlBlock& control, int index) {
    Slot& slot = control.slots()[index];
    const ControlHeader& header = control.header();
    if (header.steps_to != StepsTo::All && header.writers_closed == header.writer_ranks) {
        control.header().step_bell.ring();  // others wait for what may still come to them
    }
    if (state_of(slot) == SlotState::Complete && needed_by_yielding_alone(control, slot)) {
        control.header().space_bell.ring();  // it makes room whenever that is wanted
    }
    if (state_of(slot) == SlotState::Complete && !needed(slot)) {
        const bool stays = slot.viewed_once == 0 || reserved(control, slot);
        if (!stays && !leased(control, index)) {
            make_free(control, slot);
        } else {
            if (!stays) {
                left_the_queue(control, slot);  // though not the memory
            }
            control.header().space_bell.ring();
        }
    }
}

void finish_reading(const ControlBlock& control, int cell, int slot, bool releases) {
    ReaderCell& reader = control.reader(cell);
    if (releases) {
        clear_lease(reader, slot);
    }
    control.slots()[slot].seen |= 1u << reader.group;
    std::uint32_t& need = control.slots()[slot].need[reader.group];
    need -= need > 0 ? 1 : 0;
    ++reader.steps_finished;
    free_if_done(control, slot);
}

void finish_logged(const ControlBlock& control, int cell) {
    ++control.reader(cell).steps_finished;
    control.header().space_bell.ring();  // for writers that wait for room on the disk
    control.header().step_bell.ring();   // for ranks that wait for this one
}

void release_lease(const ControlBlock& control, int cell, int slot) {
    clear_lease(control.reader(cell), slot);
    free_if_done(control, slot);
}

void hand_on(const ControlBlock& control, int index, int gone) {
    Slot& slot = control.slots()[index];
    const StepsTo mode = control.header().steps_to;
    if (mode == StepsTo::All || state_of(slot) != SlotState::Complete || slot.need[gone] == 0) {
        return;
    }
    slot.need[gone] = 0;
    slot.begun &= ~(1u << gone);
    slot.seen &= ~(1u << gone);
    const bool another_has_it = in_hands(slot);  // which it was given elsewhere
    for (int g = 0; g < groups_max; ++g) {
        const GroupCell& group = control.group(g);
        if (g != gone && subscribed(group) && !another_has_it) {
            is_needed_by(slot, g, group.size);
        }
    }
    if (mode == StepsTo::RoundRobin) {
        give_to_one(control, slot);
    }
    if (!needed(slot)) {
        slot.viewed_once = 0;  // it waits for the next job that comes
    }
    leave_if_settled(control, index);
    control.header().step_bell.ring();
}

void subscribe(const ControlBlock& control, int index, const Begin& begin, const StepLog* log) {
    GroupCell& group = control.group(index);
    if (begin.start == Start::Observe) {
        group.next_step = 0;
        return;
    }
    const Counters& counters = control.header().counters;
    // A slower group may keep a step that is older than one which is gone, and one that is older
    // than a discarded step may still be written: a reader that began there would miss that one.
    const std::uint64_t least = control.header().steps_to == StepsTo::All ? counters.gone_end : 0;
    std::uint64_t first = std::max(counters.complete_end, least);
    if (begin.start == Start::Oldest) {
        for (const Slot& slot : control.slots()) {
            if (queued(control, slot) && state_of(slot) == SlotState::Complete &&
                slot.step.load(relaxed) >= least) {
                first = std::min(first, slot.step.load(relaxed));
            }
        }
    }
    if (begin.start == Start::Oldest && log != nullptr && !memory_alone(group)) {
        const auto on_disk = first_logged(control, *log, counters.gone_end);
        first = std::min(first, on_disk.value_or(first));
    } else if (begin.start == Start::First) {
        first = 0;
    } else if (begin.start == Start::At) {
        first = begin.step;
    }
    group.next_step = first;
    group.next_entry =
        log != nullptr ? std::max(counters.entries_freed, log->find(first, counters.entries_end))
                       : 0;
    for (Slot& slot : control.slots()) {
        const bool free_to_take =
            control.header().steps_to == StepsTo::All ||
            (control.header().steps_to == StepsTo::OnDemand ? slot.begun == 0
                                                            : !needed(slot) && slot.begun == 0);
        if (state_of(slot) == SlotState::Complete && slot.dropped == 0 &&
            slot.step.load(relaxed) >= first && free_to_take) {
            is_needed_by(slot, index, group.size);
        }
    }
}

void unsubscribe(const ControlBlock& control, int index) {
    for (int i = 0; i < slot_count(control); ++i) {
        Slot& slot = control.slots()[i];
        hand_on(control, i, index);
        if (slot.need[index] != 0) {
            slot.need[index] = 0;
            free_if_done(control, i);
        }
    }
}

}  // namespace fluvial::stage
