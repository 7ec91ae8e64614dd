// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_queue.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/logged_steps.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/yielding_groups.hpp"

namespace fluvial::stage {
namespace {

/// Out of the queue, and kept only for readers that are not waited for: their memory is set aside.
bool set_aside(const ControlBlock& control, int slot) {
    return state_of(control.slots()[slot]) == SlotState::Complete &&
           !queued(control, control.slots()[slot]) && !held(control, slot);
}

/// No group has begun this complete step, so it may be dropped.
bool untouched(const ControlBlock& control, int index) {
    const Slot& slot = control.slots()[index];
    return state_of(slot) == SlotState::Complete && queued(control, slot) &&
           !held(control, index) && !in_hands(slot);
}

/// The oldest complete step that may be dropped; only steps that no group needs unless
/// `also_needed`.
int oldest_droppable(const ControlBlock& control, bool also_needed) {
    int oldest = -1;
    const auto slots = control.slots();
    for (int i = 0; i < slot_count(control); ++i) {
        if (untouched(control, i) && (also_needed || !needed(slots[i])) &&
            (oldest < 0 || slots[i].step.load(relaxed) < slots[oldest].step.load(relaxed))) {
            oldest = i;
        }
    }
    return oldest;
}

void drop(const ControlBlock& control, int index) {
    Slot& slot = control.slots()[index];
    Counters& counters = control.header().counters;
    bool wanted = false;
    for (int g = 0; g < groups_max; ++g) {
        if (slot.need[g] != 0) {
            wanted = true;
            ++control.group(g).steps_discarded;
            slot.need[g] = 0;
        }
    }
    if (wanted) {
        ++counters.steps_discarded;
    } else if (slot.viewed_once == 0) {
        ++counters.steps_unread;
    }
    if (leased(control, index)) {  // by observers: freed when they release it
        slot.viewed_once = 1;
        slot.dropped = 1;
        left_the_queue(control, slot);
    } else {
        make_free(control, slot);
    }
}

/// Room by dropping one step: always one that no reader wants, or readers alone that the writer
/// does not wait for; one that others want by policy only.
bool make_room(const ControlBlock& control, Room room) {
    int victim = oldest_droppable(control, false);
    if (victim < 0 && push_out(control, room)) {
        return true;
    }
    if (victim < 0 && control.header().full == FullPolicy::DiscardOldest) {
        victim = oldest_droppable(control, true);
    }
    if (victim < 0) {
        return false;
    }
    drop(control, victim);
    return true;
}

/// Slots that only discarded steps may take, while their ranks pass by: so a writer that would
/// rather discard than wait need not wait for readers that hold views of all the others.
int slots_reserved(const ControlBlock& control) {
    return control.header().full == FullPolicy::Block ? 0 : slot_count(control) / 4;
}

int free_slots(const ControlBlock& control) {
    const auto slots = control.slots();
    return static_cast<int>(std::count_if(slots.begin(), slots.end(), [](const Slot& slot) {
        return state_of(slot) == SlotState::Free;
    }));
}

/// A fresh slot for `step`, or -1 when all are held.
int open_slot(const ControlBlock& control, std::uint64_t step, SlotState state) {
    for (int i = 0; i < slot_count(control); ++i) {
        Slot& slot = control.slots()[i];
        if (state_of(slot) == SlotState::Free) {
            slot.arrived = 0;
            slot.spoiled = 0;
            slot.viewed_once = 0;
            slot.begun = 0;
            slot.seen = 0;
            slot.spilled = 0;
            slot.dropped = 0;
            slot.bytes = 0;
            slot.log_begin = control.header().counters.log_end;
            slot.logged_bytes = 0;
            std::fill(std::begin(slot.need), std::end(slot.need), 0u);
            slot.step.store(step, std::memory_order_release);
            slot.state.store(state, std::memory_order_release);
            control.header().counters.steps_begun =
                std::max(control.header().counters.steps_begun, step + 1);
            return i;
        }
    }
    return -1;
}

void count_discard_for_groups(const ControlBlock& control, std::uint64_t step) {
    Counters& counters = control.header().counters;
    ++counters.steps_discarded;
    counters.gone_end = std::max(counters.gone_end, step + 1);
    for (int g = 0; g < groups_max; ++g) {
        GroupCell& group = control.group(g);
        if (subscribed(group) && group.next_step <= step) {
            ++group.steps_discarded;
        }
    }
}

}  // namespace

int queue_depth(const ControlBlock& control) {
    const auto slots = control.slots();
    return static_cast<int>(std::count_if(slots.begin(), slots.end(),
                                          [&](const Slot& slot) { return queued(control, slot); }));
}

std::uint64_t bytes_in_use(const ControlBlock& control) {
    std::uint64_t bytes = 0;
    for (int i = 0; i < slot_count(control); ++i) {
        const Slot& slot = control.slots()[i];
        if (state_of(slot) != SlotState::Free && slot.bytes != 0 && !set_aside(control, i)) {
            bytes += slot.bytes;
        }
    }
    return bytes;
}

std::optional<Admission> admit(const ControlBlock& control, std::uint64_t step) {
    for (int i = 0; i < slot_count(control); ++i) {
        const Slot& slot = control.slots()[i];
        if (state_of(slot) != SlotState::Free && slot.step.load(relaxed) == step) {
            return Admission{i, state_of(slot) != SlotState::Discarded, slot.spilled != 0};
        }
    }
    const auto& header = control.header();
    bool room = queue_depth(control) < static_cast<int>(header.queue_steps);
    if (!room) {
        room = make_room(control, Room::ForStep);
    }
    room = room && free_slots(control) > slots_reserved(control);
    if (!room && header.full == FullPolicy::Block) {
        return std::nullopt;
    }
    const bool spills = !room && header.full == FullPolicy::Spill;
    const int slot =
        open_slot(control, step, room || spills ? SlotState::Filling : SlotState::Discarded);
    if (slot < 0) {
        return std::nullopt;
    }
    control.slots()[slot].spilled = spills ? 1 : 0;
    if (!room && !spills) {
        count_discard_for_groups(control, step);
    }
    return Admission{slot, room || spills, spills};
}

bool can_fit(const ControlBlock& control, int slot, std::uint64_t bytes) {
    const Slot& mine = control.slots()[slot];
    return state_of(mine) == SlotState::Discarded || control.header().full == FullPolicy::Spill ||
           mine.bytes + bytes <= control.header().queue_bytes;
}

Grant grant_bytes(const ControlBlock& control, int slot, std::uint64_t bytes) {
    Slot& mine = control.slots()[slot];
    if (state_of(mine) == SlotState::Discarded) {
        return Grant::Discarded;
    }
    if (mine.spilled != 0) {
        return Grant::Spill;
    }
    const std::uint64_t limit = control.header().queue_bytes;
    if (!can_fit(control, slot, bytes)) {
        return Grant::NeverFits;
    }
    if (mine.bytes + bytes > limit) {
        return Grant::Spill;
    }
    const auto used_by_others = [&] {
        std::uint64_t younger = 0;
        bool oldest = true;
        for (const Slot& slot_ : control.slots()) {
            if (state_of(slot_) == SlotState::Filling && &slot_ != &mine) {
                (slot_.step.load(relaxed) > mine.step.load(relaxed)) ? void(younger += slot_.bytes)
                                                                     : void(oldest = false);
            }
        }
        return bytes_in_use(control) - (oldest ? younger : 0);
    };
    while (used_by_others() + bytes > limit) {
        if (!make_room(control, Room::ForBytes)) {
            if (control.header().full == FullPolicy::Block) {
                return Grant::Wait;
            }
            if (control.header().full == FullPolicy::Spill) {
                return Grant::Spill;
            }
            give_up(control, slot);
            return Grant::Discarded;
        }
    }
    mine.bytes += bytes;
    control.header().counters.bytes_staged += bytes;
    return Grant::Given;
}

Signature* check_signature(const ControlBlock& control, int slot, int rank, std::string_view name,
                           DType dtype, const Coordinates& shape) {
    const std::uint64_t hash = std::hash<std::string_view>{}(name);
    const std::uint64_t used_by = control.slots()[slot].step.load(relaxed) + 1;
    Signature* signatures = control.signatures(slot);
    constexpr int probes_max = 16;
    for (int probe = 0; probe < probes_max; ++probe) {
        Signature& s = signatures[(hash + static_cast<std::uint64_t>(probe)) % signatures_max];
        if (s.used_by != used_by) {
            s.name_hash = hash;
            s.dtype = dtype;
            s.shape = shape;
            s.rank = rank;
            s.used_by = used_by;
            return &s;
        }
        if (s.name_hash == hash) {
            if (s.dtype != dtype || !(s.shape == shape)) {
                throw InvalidArgument(Problem{
                    text("the ranks disagree about the dataset '", name, "'"),
                    text(name_of(dtype), " with global shape ", shape, " on rank ", rank),
                    text(name_of(s.dtype), " with global shape ", s.shape, ", as on rank ", s.rank),
                    "Give every rank the same dtype and the same global shape"});
            }
            return nullptr;
        }
    }
    // More datasets than the table has room for near here: readers compare the rest when they take
    // the step.
    return nullptr;
}

void forget_signatures(std::span<Signature* const> noted) {
    // The last first: others were noted behind it where its place was taken.
    for (auto last = noted.rbegin(); last != noted.rend(); ++last) {
        (*last)->used_by = 0;
    }
}

void give_up(const ControlBlock& control, int slot) {
    Slot& mine = control.slots()[slot];
    if (state_of(mine) == SlotState::Filling) {
        mine.state.store(SlotState::Discarded, std::memory_order_release);
        count_discard_for_groups(control, mine.step.load(relaxed));
    }
}

bool finish_writing(const ControlBlock& control, int slot, int rank, const RecordPlace& record,
                    bool spoiled, const StepLog* log) {
    Slot& mine = control.slots()[slot];
    Counters& counters = control.header().counters;
    control.record(slot, rank) = record;
    mine.spoiled |= spoiled ? 1u : 0u;
    const std::uint64_t step = mine.step.load(relaxed);
    control.writer(rank).steps_finished = step + 1;
    if (++mine.arrived < control.header().writer_ranks) {
        return false;
    }
    if (state_of(mine) == SlotState::Discarded || mine.spoiled != 0) {
        counters.steps_spoiled += mine.spoiled;
        make_free(control, mine);
        return false;
    }
    const bool on_disk = mine.spilled != 0 || control.header().retains != 0;
    if (on_disk && (log == nullptr || !commit(control, *log, slot, record.logged))) {
        ++counters.full_disks;  // so that both sides are told
        give_up(control, slot);
        make_free(control, mine);
        return false;
    }
    ++counters.steps_completed;
    counters.complete_end = step + 1;
    if (mine.spilled != 0) {
        ++counters.steps_spilled;
        pass_over(control, step);
        make_free(control, mine);
        return true;
    }
    for (int g = 0; g < groups_max; ++g) {
        const GroupCell& group = control.group(g);
        const bool wants = subscribed(group) && group.next_step <= step;
        const bool gets = wants && !keeps_older(control, g);
        mine.need[g] = gets ? group.size : 0;
        control.group(g).steps_discarded += wants && !gets ? 1 : 0;
    }
    if (control.header().steps_to == StepsTo::RoundRobin) {
        give_to_one(control, mine);
    }
    mine.state.store(SlotState::Complete, std::memory_order_release);
    leave_if_settled(control, slot);
    if (control.header().reserve != 0) {
        for (int i = 0; i < slot_count(control); ++i) {  // the oldest one is reserved no longer
            free_if_done(control, i);
        }
    }
    return true;
}

std::string describe_holders(const ControlBlock& control) {
    std::string out =
        text(queue_depth(control), " steps queued (limit ", control.header().queue_steps, "), ",
             bytes_in_use(control), " bytes in use (limit ", control.header().queue_bytes, ")");
    for (int g = 0; g < groups_max; ++g) {
        const GroupCell& group = control.group(g);
        if (subscribed(group) && waited_for(group)) {
            const bool joins = group.state == GroupState::Joining;
            out += text("; reader ", g, " (", group.size, " ranks",
                        joins ? text(", of which ", group.joined, " have come so far") : "",
                        ") waits for step ", group.next_step);
        }
    }
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        int leases = 0;
        for (const std::uint64_t word : cell.leases) {
            leases += __builtin_popcountll(word);
        }
        if (leases != 0) {
            const bool is_waited_for = waited_for(control.group(static_cast<int>(cell.group)));
            out += text("; process ", cell.pid, " (reader ", cell.group, ", rank ", cell.rank,
                        is_waited_for ? "" : ", which is not waited for", ") holds ", leases,
                        " steps or views of them");
        }
    }
    return out;
}

}  // namespace fluvial::stage
