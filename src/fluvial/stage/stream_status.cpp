// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {
namespace {

std::string name_of(GroupState state) {
    constexpr std::array names = {"free", "joining", "active", "leaving", "broken", "evicted"};
    return names.at(static_cast<std::size_t>(state));
}

int leases_of(const ReaderCell& cell) {
    int leases = 0;
    for (const std::uint64_t word : cell.leases) {
        leases += __builtin_popcountll(word);
    }
    return leases;
}

/// Complete steps from `next` on that lie on the disk alone, beside those in memory. Which of them
/// other groups get of a shared stream is not known before they are taken.
std::uint64_t lag_on_disk(const ControlBlock& control, const GroupCell& group, std::uint64_t next,
                          std::uint64_t in_memory) {
    const Counters& counters = control.header().counters;
    if (group.observes != 0 || memory_alone(group) || control.header().steps_to != StepsTo::All ||
        counters.complete_end <= next + in_memory) {
        return 0;
    }
    const std::uint64_t first = std::max(group.next_entry, counters.entries_freed);
    const std::uint64_t entries = counters.entries_end - std::min(first, counters.entries_end);
    return std::min(entries, counters.complete_end - next - in_memory);
}

ReaderStatus status_of(const ControlBlock& control, int number) {
    const GroupCell& group = control.group(number);
    ReaderStatus status{
        .number = number,
        .ranks = static_cast<int>(group.size),
        .pid = 0,
        .state = name_of(group.state),
        .observes = group.observes != 0,
        .full = group.observes != 0 ? "" : name_of(group.full),
        .steps_taken = group.steps_taken,
        .steps_discarded = group.steps_discarded,
        .lag_steps = 0,
        .lag_on_disk = 0,
        .steps_held = 0,
    };
    for (const Slot& slot : control.slots()) {
        const bool begun = slot.step.load() < group.next_step;
        status.lag_steps += slot.state.load() == SlotState::Complete && !begun &&
                                    (slot.need[number] != 0 || group.observes != 0)
                                ? 1
                                : 0;
    }
    status.lag_on_disk = lag_on_disk(control, group, group.next_step, status.lag_steps);
    status.lag_steps += status.lag_on_disk;
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        if (cell.state != MemberState::Free && static_cast<int>(cell.group) == number) {
            status.pid = status.pid != 0 ? status.pid : static_cast<int>(cell.pid);
            status.steps_held += leases_of(cell);
        }
    }
    return status;
}

}  // namespace

SeatStats stats_of(const ControlBlock& control, int cell, std::uint64_t next_index) {
    const ReaderCell& reader = control.reader(cell);
    SeatStats stats{reader.steps_taken,
                    control.group(static_cast<int>(reader.group)).steps_discarded,
                    queue_depth(control), 0};
    for (const Slot& slot : control.slots()) {
        const bool begun = slot.step.load() < next_index;
        stats.lag_steps += slot.state.load() == SlotState::Complete && !begun ? 1 : 0;
    }
    const GroupCell& group = control.group(static_cast<int>(reader.group));
    stats.lag_steps += lag_on_disk(control, group, next_index, stats.lag_steps);
    return stats;
}

StreamStatus status_of(const ControlBlock& control) {
    const ControlHeader& header = control.header();
    const Counters& counters = header.counters;
    StreamStatus status{
        .name = header.name,
        .host = header.host,
        .full = name_of(header.full),
        .failure = header.failure.set != 0 ? header.failure.message : "",
        .writer_ranks = control.writer_ranks(),
        .writer_pid = static_cast<int>(control.writer(0).pid),
        .writers_closed = static_cast<int>(header.writers_closed),
        .steps_begun = counters.steps_begun,
        .steps_written = counters.steps_completed,
        .steps_discarded = counters.steps_discarded,
        .steps_unread = counters.steps_unread,
        .steps_spoiled = counters.steps_spoiled,
        .steps_spilled = counters.steps_spilled,
        .bytes_staged = counters.bytes_staged,
        .bytes_in_use = bytes_in_use(control),
        .queue_bytes = header.queue_bytes,
        .queue_depth = queue_depth(control),
        .queue_steps = static_cast<int>(header.queue_steps),
        .readers = {},
    };
    for (int number = 0; number < groups_max; ++number) {
        if (control.group(number).state != GroupState::Free) {
            status.readers.push_back(status_of(control, number));
        }
    }
    return status;
}

}  // namespace fluvial::stage
