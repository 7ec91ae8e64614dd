// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/membership.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/yielding_groups.hpp"

namespace fluvial::stage {
namespace {

/// A process that was given a cell takes its alive lock within microseconds, unless it died.
constexpr std::int64_t joining_ns_max = 5'000'000'000;

double silent_s(const std::atomic<std::int64_t>& beat_ns) {
    return static_cast<double>(now_ns() - beat_ns.load(relaxed)) * 1e-9;
}

void drop_leases(const ControlBlock& control, int index) {
    ReaderCell& cell = control.reader(index);
    for (int slot = 0; slot < static_cast<int>(control.header().slots); ++slot) {
        if (has_lease(cell, slot)) {
            release_lease(control, index, slot);
        }
    }
}

/// The place of a group is free again when no cell refers to it.
void free_group_if_empty(const ControlBlock& control, int group) {
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& cell = control.reader(static_cast<int>(i));
        if (cell.state != MemberState::Free && static_cast<int>(cell.group) == group) {
            return;
        }
    }
    close_group(control, group);
}

/// The group has taken the step, and this rank of it has not finished with it.
bool is_unfinished(const ReaderCell& cell, const GroupCell& group, std::uint64_t step) {
    for (std::uint64_t n = cell.steps_finished; n < group.steps_taken; ++n) {
        if (group.taken[n % slots_max] == step) {
            return true;
        }
    }
    return false;
}

/// A rank of the group leaves, which has not finished with the step. Where no rank has, another
/// group is to get it.
void give_up_part(const ControlBlock& control, int index, int g) {
    Slot& slot = control.slots()[index];
    const bool seen = ((slot.seen >> g) & 1u) != 0;
    if (slot.need[g] == 1 && !seen) {
        hand_on(control, index, g);
    }
    slot.need[g] -= slot.need[g] > 0 ? 1 : 0;
    free_if_done(control, index);
}

void end_group(const ControlBlock& control, int index, GroupState state, const std::string& why) {
    GroupCell& group = control.group(index);
    if (group.state == GroupState::Active || group.state == GroupState::Joining ||
        group.state == GroupState::Leaving) {
        store_text(group.departed, why);
        group.state = state;
        unsubscribe(control, index);
        control.header().step_bell.ring();
    }
}

void look_after_reader(const ControlBlock& control, int index) {
    const ReaderCell& cell = control.reader(index);
    if (cell.state == MemberState::Free ||
        (cell.state == MemberState::Joining && now_ns() - cell.joined_ns < joining_ns_max)) {
        return;
    }
    if (!host::AliveLock::held(control.file(), control.reader_lock(index))) {
        if (cell.elsewhere == 0 || !is_taken_over(control)) {
            lose_reader(control, index, "died");
        }
        return;
    }
    const double silent = silent_s(cell.beat_ns);
    const auto& header = control.header();
    if (cell.state == MemberState::Active && silent > header.stall_timeout_s &&
        header.on_stalled_reader == StalledPolicy::Evict &&
        subscribed(control.group(static_cast<int>(cell.group)))) {
        end_group(control, static_cast<int>(cell.group), GroupState::Evicted,
                  text("rank ", cell.rank, " (process ", cell.pid, ") gave no heartbeat for ",
                       silent, " s, more than stall_timeout=", header.stall_timeout_s, " s"));
        ++control.header().counters.groups_evicted;
        control.header().space_bell.ring();
    }
}

void fail_for_missing_rank(const ControlBlock& control, int rank, std::uint64_t step) {
    fail(control, "PeerLost",
         text("rank ", control.job_rank(rank), " of the writer of '", control.header().name,
              "' closed the stream after ", control.writer(rank).steps_finished,
              " steps while other ranks had begun step ", step,
              ". All ranks must write the same steps"));
}

void fail_for_other_hosts(const ControlBlock& control, std::uint64_t step) {
    fail(
        control, "PeerLost",
        text("ranks of the writer of '", control.header().name,
             "' on another host closed the stream after ", control.header().closed_elsewhere,
             " steps while others had begun step ", step, ". All ranks must write the same steps"));
}

}  // namespace

int open_group(const ControlBlock& control, int size, const Begin& begin, const StepLog* log) {
    for (int i = 0; i < groups_max; ++i) {
        GroupCell& group = control.group(i);
        if (group.state == GroupState::Free) {
            group.size = static_cast<std::uint32_t>(size);
            group.joined = 0;
            group.observes = begin.start == Start::Observe ? 1 : 0;
            set_policy(control, group, begin.full);
            group.next_step = 0;
            group.steps_taken = 0;
            group.steps_discarded = 0;
            group.next_entry = 0;
            group.departed[0] = '\0';
            group.state = GroupState::Joining;
            // From here on no step that it asked for can slip away while its ranks come in one by
            // one.
            subscribe(control, i, begin, log);
            return i;
        }
    }
    throw Error(Problem{"the stream has no place for another reader job",
                        text(groups_max, " are attached"), text(groups_max, " at a time"),
                        "Close one of them first"});
}

void close_group(const ControlBlock& control, int group) {
    unsubscribe(control, group);
    control.group(group).state = GroupState::Free;
}

int open_reader(const ControlBlock& control, int group, int rank, std::uint32_t pid) {
    ControlHeader& header = control.header();
    for (int i = 0; i < readers_max; ++i) {
        ReaderCell& cell = control.reader(i);
        if (cell.state == MemberState::Free) {
            cell.pid = pid;
            cell.group = static_cast<std::uint32_t>(group);
            cell.rank = static_cast<std::uint32_t>(rank);
            cell.elsewhere = 0;
            cell.joined_ns = now_ns();
            cell.beat_ns.store(cell.joined_ns, relaxed);
            cell.steps_taken = 0;
            cell.steps_finished = 0;
            std::fill(std::begin(cell.leases), std::end(cell.leases), std::uint64_t{0});
            cell.state = MemberState::Joining;
            header.readers_high = std::max(header.readers_high, static_cast<std::uint32_t>(i + 1));
            return i;
        }
    }
    throw Error(Problem{"the stream has no place for another reader rank",
                        text(readers_max, " are attached"),
                        text(readers_max, " at a time on one host"), "Use fewer ranks"});
}

void activate_reader(const ControlBlock& control, int index) {
    ReaderCell& cell = control.reader(index);
    GroupCell& group = control.group(static_cast<int>(cell.group));
    cell.state = MemberState::Active;
    if (++group.joined == group.size && group.state == GroupState::Joining) {
        group.state = GroupState::Active;
        control.header().counters.groups_joined += group.observes != 0 ? 0 : 1;
        control.header().space_bell.ring();
    }
}

void leave(const ControlBlock& control, int index) {
    ReaderCell& cell = control.reader(index);
    const int g = static_cast<int>(cell.group);
    GroupCell& group = control.group(g);
    cell.state = MemberState::Left;
    if (group.state == GroupState::Active || group.state == GroupState::Joining ||
        group.state == GroupState::Leaving) {
        if (group.state != GroupState::Leaving) {
            store_text(group.departed,
                       text("rank ", cell.rank, " of this reader has left the stream"));
        }
        group.state = GroupState::Leaving;
        // Steps that no rank has begun are not wanted any more; of those begun, this rank gives up
        // its own part.
        for (int i = 0; i < static_cast<int>(control.header().slots); ++i) {
            Slot& slot = control.slots()[i];
            if (slot.need[g] == 0) {
                continue;
            }
            if (((slot.begun >> g) & 1u) == 0) {
                hand_on(control, i, g);
                slot.need[g] = 0;
                free_if_done(control, i);
            } else if (is_unfinished(cell, group, slot.step.load(relaxed))) {
                give_up_part(control, i, g);
            }
        }
    }
}

void vacate(const ControlBlock& control, int index) {
    ReaderCell& cell = control.reader(index);
    drop_leases(control, index);
    cell.state = MemberState::Free;
    free_group_if_empty(control, static_cast<int>(cell.group));
}

void reap(const ControlBlock& control) {
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        look_after_reader(control, static_cast<int>(i));
    }
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        const WriterCell& cell = control.writer(rank);
        if (cell.state == MemberState::Active &&
            !host::AliveLock::held(control.file(), control.writer_lock(rank))) {
            fail(control, "PeerLost",
                 text("rank ", cell.job_rank, " of ", control.header().job_ranks,
                      " of the writer of '", control.header().name, "' (process ", cell.pid,
                      ") died after finishing ", cell.steps_finished, " steps"));
        }
    }
}

bool is_taken_over(const ControlBlock& control) {
    const auto lives = [&](int rank) {
        return host::AliveLock::held(control.file(), control.writer_lock(rank));
    };
    return control.header().standby_port != 0 && !lives(serving_rank) && lives(standby_rank);
}

std::string stalled_writer(const ControlBlock& control, double stall_timeout_s) {
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        const WriterCell& cell = control.writer(rank);
        const double silent = silent_s(cell.beat_ns);
        if (cell.state == MemberState::Active && silent > stall_timeout_s) {
            return text("rank ", cell.job_rank, " of the writer of '", control.header().name,
                        "' (process ", cell.pid, ") has given no heartbeat for ", silent, " s");
        }
    }
    return {};
}

void fail(const ControlBlock& control, const std::string& kind, const std::string& message) {
    ControlHeader& header = control.header();
    if (header.failure.set == 0) {
        store_text(header.failure.kind, kind);
        store_text(header.failure.message, message);
        header.failure.set = 1;
    }
    header.step_bell.ring();
    header.space_bell.ring();
}

void close_writer(const ControlBlock& control, int rank) {
    ControlHeader& header = control.header();
    WriterCell& cell = control.writer(rank);
    for (const Slot& slot : control.slots()) {
        const SlotState state = slot.state.load(relaxed);
        const std::uint64_t step = slot.step.load(relaxed);
        if ((state == SlotState::Filling || state == SlotState::Discarded) &&
            step >= cell.steps_finished) {
            fail_for_missing_rank(control, rank, step);
        }
    }
    const bool others_closed = header.closed_elsewhere != std::numeric_limits<std::uint64_t>::max();
    if (others_closed && cell.steps_finished < header.closed_elsewhere) {
        fail(control, "PeerLost",
             text("rank ", control.job_rank(rank), " of the writer of '", header.name,
                  "' closed the stream after ", cell.steps_finished,
                  " steps, those on another host after ", header.closed_elsewhere,
                  ". All ranks must write the same steps"));
    }
    cell.state = MemberState::Left;
    ++header.writers_closed;
    header.step_bell.ring();
    header.space_bell.ring();
}

std::uint64_t steps_of_all_writers(const ControlBlock& control) {
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        steps = std::min(steps, control.writer(rank).steps_finished);
    }
    return steps;
}

void expect_all_writers(const ControlBlock& control, std::uint64_t step) {
    if (control.header().closed_elsewhere <= step) {
        fail_for_other_hosts(control, step);
    }
    if (control.header().writers_closed == 0) {
        return;
    }
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        const WriterCell& cell = control.writer(rank);
        if (cell.state == MemberState::Left && cell.steps_finished <= step) {
            fail_for_missing_rank(control, rank, step);
        }
    }
}

void lose_reader(const ControlBlock& control, int index, const std::string& why) {
    const ReaderCell& cell = control.reader(index);
    const int group = static_cast<int>(cell.group);
    if (cell.state != MemberState::Left) {
        const GroupState before = control.group(group).state;
        end_group(control, group, GroupState::Broken,
                  text("rank ", cell.rank, " of this reader (process ", cell.pid, ") ", why));
        if (control.group(group).observes == 0 &&
            (before == GroupState::Active || before == GroupState::Joining)) {
            ++control.header().counters.groups_lost;
        }
    }
    vacate(control, index);
}

void close_elsewhere(const ControlBlock& control, std::uint64_t steps) {
    std::uint64_t& least = control.header().closed_elsewhere;
    least = std::min(least, steps);
    if (control.header().counters.steps_begun > steps) {
        fail_for_other_hosts(control, control.header().counters.steps_begun - 1);
    }
}

int active_groups(const ControlBlock& control) {
    int count = 0;
    for (int i = 0; i < groups_max; ++i) {
        const GroupCell& group = control.group(i);
        count += group.state == GroupState::Active && group.observes == 0 ? 1 : 0;
    }
    return count;
}

}  // namespace fluvial::stage
