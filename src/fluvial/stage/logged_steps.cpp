// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/logged_steps.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <time.h>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/checksum.hpp"
#include "fluvial/stage/slot_state.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint64_t block_alignment = 64;
constexpr std::uint64_t no_step = std::numeric_limits<std::uint64_t>::max();

std::uint64_t whole_blocks(std::uint64_t bytes) {
    return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

std::int64_t since_1970_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The first step that a rank of a group has not finished, or will be given.
std::uint64_t wanted_by(const GroupCell& group, const ReaderCell& cell) {
    if (cell.steps_finished < group.steps_taken) {
        return group.taken[cell.steps_finished % slots_max];
    }
    return group.state == GroupState::Leaving ? no_step : group.next_step;
}

/// The first step that any group has not finished.
std::uint64_t wanted_from(const ControlBlock& control) {
    std::uint64_t first = no_step;
    for (int g = 0; g < groups_max; ++g) {
        const GroupCell& group = control.group(g);
        if (subscribed(group) && !memory_alone(group)) {
            first = std::min(first, group.next_step);
        }
    }
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        const GroupCell& group = control.group(static_cast<int>(cell.group));
        const bool takes = cell.state == MemberState::Joining || cell.state == MemberState::Active;
        if (takes && group.observes == 0 && !memory_alone(group) &&
            (group.state == GroupState::Joining || group.state == GroupState::Active ||
             group.state == GroupState::Leaving)) {
            first = std::min(first, wanted_by(group, cell));
        }
    }
    return first;
}

/// A reader for which the writer does not wait may be at the step.
bool is_looked_at(const ControlBlock& control, int slot) {
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        if (has_lease(cell, slot) && cell.steps_finished < cell.steps_taken &&
            !waited_for(control.group(static_cast<int>(cell.group)))) {
            return true;
        }
    }
    return false;
}

/// The bytes that a step has on the disk may be wanted. Views are of memory alone.
bool is_wanted(const ControlBlock& control, int index) {
    const Slot& slot = control.slots()[index];
    switch (state_of(slot)) {
        case SlotState::Filling:
        case SlotState::Discarded:
            return slot.logged_bytes != 0;
        case SlotState::Complete:
            return slot.logged_bytes != 0 &&
                   (queued(control, slot) || is_looked_at(control, index));
        case SlotState::Free:
            break;
    }
    return false;
}

/// Before it lies nothing that a step in a slot has on the disk, or will have.
std::uint64_t begin_of_slots(const ControlBlock& control) {
    std::uint64_t begin = control.header().counters.log_end;
    for (int i = 0; i < slot_count(control); ++i) {
        if (is_wanted(control, i)) {
            begin = std::min(begin, control.slots()[i].log_begin);
        }
    }
    return begin;
}

/// No older step is being written, and none that is complete is on the disk: readers can have
/// nothing from there but this one.
bool is_next_there(const ControlBlock& control, const Slot& mine) {
    const Counters& counters = control.header().counters;
    const auto slots = control.slots();
    return counters.entries_freed == counters.entries_end &&
           std::none_of(slots.begin(), slots.end(), [&](const Slot& slot) {
               return state_of(slot) == SlotState::Filling &&
                      slot.step.load(relaxed) < mine.step.load(relaxed);
           });
}

/// A rank of some group has taken the step and not finished it, or is to take it as others of its
/// group have.
bool in_hands(const ControlBlock& control, std::uint64_t step) {
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        const GroupCell& group = control.group(static_cast<int>(cell.group));
        const bool reads =
            cell.state == MemberState::Active && group.observes == 0 &&
            (group.state == GroupState::Active || group.state == GroupState::Leaving);
        if (reads && cell.steps_finished < group.steps_taken && step < group.next_step &&
            wanted_by(group, cell) <= step) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<std::uint64_t> reserve(const ControlBlock& control, int slot, std::uint64_t bytes) {
    Counters& counters = control.header().counters;
    const std::uint64_t limit = control.header().spill_bytes;
    Slot& mine = control.slots()[slot];
    bytes = whole_blocks(bytes);
    // Readers wait for that one: what ranks that are ahead have there must not hold it up.
    const std::uint64_t used =
        is_next_there(control, mine) ? mine.logged_bytes : counters.log_end - counters.log_freed;
    if (limit != 0 && control.header().retains == 0 && used + bytes > limit) {
        return std::nullopt;
    }
    const std::uint64_t offset = counters.log_end;
    if (mine.logged_bytes == 0) {
        mine.log_begin = offset;
    }
    counters.log_end += bytes;
    mine.logged_bytes += bytes;
    counters.bytes_logged += bytes;
    return offset;
}

std::uint64_t bytes_with_list(const ControlBlock& control, std::uint64_t record) {
    return whole_blocks(record) +
           whole_blocks(sizeof(BytesOfFile) * static_cast<std::uint64_t>(control.writer_ranks()));
}

RecordOnDisk with_list(const ControlBlock& control, const Bytes& record, std::uint64_t offset) {
    RecordOnDisk made{record, {offset, record.size(), checksum_of(record)}};
    made.bytes.resize(bytes_with_list(control, record.size()));
    if (control.writer_ranks() == 1) {
        std::memcpy(made.bytes.data() + whole_blocks(record.size()), &made.record,
                    sizeof made.record);
    }
    return made;
}

bool commit(const ControlBlock& control, const StepLog& log, int slot, const BytesOfFile& mine) {
    std::vector<BytesOfFile> records;
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        records.push_back(control.record(slot, rank).logged);
    }
    const auto list = std::as_bytes(std::span(records));
    const Slot& written = control.slots()[slot];
    LogEntry entry;
    entry.step = written.step.load(relaxed);
    entry.begin = written.log_begin;
    entry.completed_ns = since_1970_ns();
    entry.ranks = {mine.offset + whole_blocks(mine.bytes), list.size(), checksum_of(list)};
    Counters& counters = control.header().counters;
    const bool listed = control.writer_ranks() == 1 || log.write(entry.ranks.offset, list);
    if (!listed || !log.write_entry(counters.entries_end, entry)) {
        return false;
    }
    ++counters.entries_end;
    return true;
}

std::optional<LogEntry> next_logged(const ControlBlock& control, const StepLog& log, int g) {
    GroupCell& group = control.group(g);
    const Counters& counters = control.header().counters;
    group.next_entry = std::max(group.next_entry, counters.entries_freed);
    while (group.next_entry < counters.entries_end) {
        const LogEntry entry = log.entry(group.next_entry);
        if (entry.step >= group.next_step) {
            return entry;
        }
        ++group.next_entry;
    }
    return std::nullopt;
}

LogEntry logged(const ControlBlock& control, const StepLog& log, std::uint64_t step) {
    const std::uint64_t entries = control.header().counters.entries_end;
    const std::uint64_t number = log.find(step, entries);
    FLUVIAL_ASSERT(number < entries, "a step that the group took is gone", step);
    const LogEntry entry = log.entry(number);
    FLUVIAL_ASSERT(entry.step == step, "a step that the group took is gone", step);
    return entry;
}

std::optional<std::uint64_t> first_logged(const ControlBlock& control, const StepLog& log,
                                          std::uint64_t least) {
    const Counters& counters = control.header().counters;
    const std::uint64_t number =
        std::max(counters.entries_freed, log.find(least, counters.entries_end));
    if (number >= counters.entries_end) {
        return std::nullopt;
    }
    return log.entry(number).step;
}

FreedBytes free_logged(const ControlBlock& control, const StepLog& log, bool also_unread,
                       RememberedEntry& oldest) {
    Counters& counters = control.header().counters;
    if (control.header().retains != 0 || counters.log_freed == counters.log_end) {
        return {};
    }
    const std::uint64_t wanted = wanted_from(control);
    const std::uint64_t bound = also_unread ? wanted : std::min(wanted, counters.taken_end);
    std::uint64_t begin = begin_of_slots(control);
    while (counters.entries_freed < counters.entries_end) {
        if (!oldest || oldest->first != counters.entries_freed) {
            oldest.emplace(counters.entries_freed, log.entry(counters.entries_freed));
        }
        const LogEntry& entry = oldest->second;
        if (entry.step >= bound) {
            begin = std::min(begin, entry.begin);
            break;
        }
        counters.steps_unread += entry.step >= counters.taken_end ? 1 : 0;
        counters.gone_end = std::max(counters.gone_end, entry.step + 1);
        ++counters.entries_freed;
    }
    const FreedBytes freed{counters.log_freed, std::max(counters.log_freed, begin)};
    counters.log_freed = freed.end;
    return freed;
}

bool drop_oldest_logged(const ControlBlock& control, const StepLog& log) {
    Counters& counters = control.header().counters;
    if (control.header().retains != 0 || counters.entries_freed == counters.entries_end) {
        return false;
    }
    const std::uint64_t step = log.entry(counters.entries_freed).step;
    if (in_hands(control, step)) {
        return false;
    }
    for (int g = 0; g < groups_max; ++g) {
        GroupCell& group = control.group(g);
        const bool loses = subscribed(group) && !memory_alone(group) && group.next_step <= step;
        group.steps_discarded += loses ? 1 : 0;
    }
    ++counters.entries_freed;
    ++counters.steps_discarded;
    counters.gone_end = std::max(counters.gone_end, step + 1);
    return true;
}

}  // namespace fluvial::stage
