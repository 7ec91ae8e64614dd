// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/taken_over_steps.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {
namespace {

/// The slot of a step that the reader holds in the queue, or -1.
int leased_slot(const ControlBlock& control, const ReaderCell& reader, std::uint64_t step) {
    for (int i = 0; i < slot_count(control); ++i) {
        if (has_lease(reader, i) && control.slots()[i].step.load(relaxed) == step) {
            return i;
        }
    }
    return -1;
}

[[noreturn]] void throw_lost(const ControlBlock& control, std::uint64_t step) {
    throw PeerLost(Problem{
        text("step ", step, " of '", control.header().name, "' was on its way to this reader"),
        text("rank ", control.job_rank(serving_rank), " of the writer, which sent it, died"), "",
        "The step is lost with that rank; those before it came"});
}

/// Of the group's steps, that which its ranks were given as the n-th.
std::uint64_t nth_step(const GroupCell& group, std::uint64_t n) {
    return group.taken[n % slots_max];
}

/// Those that the reader has not got: it was given more than came.
std::vector<TakenOverSteps::Step> find_unsent(const ControlBlock& control, const ReaderCell& reader,
                                              std::uint64_t came) {
    const GroupCell& group = control.group(static_cast<int>(reader.group));
    std::vector<TakenOverSteps::Step> unsent;
    for (std::uint64_t n = came; n < reader.steps_taken; ++n) {
        const int slot = leased_slot(control, reader, nth_step(group, n));
        if (slot < 0) {
            throw_lost(control, nth_step(group, n));
        }
        unsent.push_back({nth_step(group, n), slot});
    }
    return unsent;
}

bool is_among(const std::vector<TakenOverSteps::Step>& steps, int slot) {
    return std::ranges::any_of(steps, [&](const auto& one) { return one.slot == slot; });
}

/// The service may have died between the two halves of giving a step back.
bool counts_as_finished(const ReaderCell& reader, const GroupCell& group, std::uint64_t step) {
    for (std::uint64_t n = reader.steps_finished; n < reader.steps_taken; ++n) {
        if (nth_step(group, n) == step) {
            return false;
        }
    }
    return true;
}

}  // namespace

TakenOverSteps take_over_steps(const ControlBlock& control, int cell,
                               const GoesOnMessage& message) {
    const ReaderCell& reader = control.reader(cell);
    const GroupCell& group = control.group(static_cast<int>(reader.group));
    if (message.came > reader.steps_taken || reader.steps_taken - message.came > slots_max) {
        throw Error("a reader on another host has got other steps than it was given");
    }
    TakenOverSteps steps;
    if (group.observes == 0) {  // one that looks on gets the newest step when it asks again
        steps.unsent = find_unsent(control, reader, message.came);
    }
    for (int slot = 0; slot < slot_count(control); ++slot) {
        if (!has_lease(reader, slot) || is_among(steps.unsent, slot)) {
            continue;
        }
        const std::uint64_t step = control.slots()[slot].step.load(relaxed);
        if (std::ranges::find(message.holds, step) != message.holds.end()) {
            steps.held.push_back({step, slot});
            continue;
        }
        if (group.observes == 0 && !counts_as_finished(reader, group, step)) {
            finish_reading(control, cell, slot);
        }
        release_lease(control, cell, slot);
    }
    const std::uint64_t given = reader.steps_taken;
    steps.stats = stats_of(control, cell,
                           given > 0 && group.observes == 0 ? nth_step(group, given - 1) + 1 : 0);
    return steps;
}

}  // namespace fluvial::stage
