// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/given_steps.hpp"

#include <algorithm>

#include "fluvial/stage/slot_state.hpp"

namespace fluvial::stage {
namespace {

/// Where a step is, or -1.
int slot_of(const ControlBlock& control, std::uint64_t step) {
    const auto slots = control.slots();
    const auto found = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) {
        return state_of(slot) != SlotState::Free && slot.step.load(relaxed) == step;
    });
    return found == slots.end() ? -1 : static_cast<int>(found - slots.begin());
}

/// The job is the one that gets the step, beside any that has it in its hands.
void claim(Slot& slot, int g, GroupCell& group) {
    for (int other = 0; other < groups_max; ++other) {
        if (!in_hands_of(slot, other)) {
            slot.need[other] = 0;
        }
    }
    is_needed_by(slot, g, group.size);
    note_taken(group, slot.step.load(relaxed));
}

bool is_over(const StepsElsewhere& first_host, std::uint64_t step) {
    const auto* const end = first_host.open + first_host.open_count;
    return step < first_host.begun && !std::binary_search(first_host.open, end, step);
}

}  // namespace

void follow_first_host(const ControlBlock& control) {
    ControlHeader& header = control.header();
    if (header.steps_to != StepsTo::All) {
        header.steps_to = StepsTo::OnDemand;  // whichever job it is
        header.follows = 1;
    }
}

bool shares_out(const ControlBlock& control, int cell) {
    return control.header().steps_to != StepsTo::All &&
           control.group(static_cast<int>(control.reader(cell).group)).observes == 0;
}

Taken take_given(const ControlBlock& control, int cell, std::uint64_t step) {
    ReaderCell& reader = control.reader(cell);
    const int g = static_cast<int>(reader.group);
    GroupCell& group = control.group(g);
    if (group.state != GroupState::Active && group.state != GroupState::Leaving) {
        return {};
    }
    const int index = slot_of(control, step);
    if (index < 0) {
        return {.gone = step < control.header().counters.steps_begun};
    }
    Slot& slot = control.slots()[index];
    if (state_of(slot) != SlotState::Complete) {
        return {.gone = state_of(slot) == SlotState::Discarded};
    }
    if (!in_hands_of(slot, g)) {
        if (group.state != GroupState::Active) {
            return {};
        }
        claim(slot, g, group);
    }
    begin_reading(control, cell, index);
    return {index};
}

OpenSteps open_steps(const ControlBlock& control) {
    OpenSteps found{.begun = control.header().counters.steps_begun, .open = {}};
    for (const Slot& slot : control.slots()) {
        if (queued(control, slot)) {
            found.open.push_back(slot.step.load(relaxed));
        }
    }
    std::sort(found.open.begin(), found.open.end());
    return found;
}

bool some_ended(const OpenSteps& before, const OpenSteps& now) {
    const auto fresh = std::lower_bound(now.open.begin(), now.open.end(), before.begun);
    return static_cast<std::uint64_t>(now.open.end() - fresh) < now.begun - before.begun ||
           !std::includes(now.open.begin(), now.open.end(), before.open.begin(), before.open.end());
}

void leave_if_settled(const ControlBlock& control, int index) {
    Slot& slot = control.slots()[index];
    if (control.header().follows != 0 && state_of(slot) == SlotState::Complete &&
        is_over(control.header().first_host, slot.step.load(relaxed)) && !in_hands(slot)) {
        std::fill(std::begin(slot.need), std::end(slot.need), 0u);
        slot.viewed_once = 1;
        free_if_done(control, index);
    }
}

void settle(const ControlBlock& control, const OpenSteps& first_host) {
    StepsElsewhere& known = control.header().first_host;
    known.begun = first_host.begun;
    known.open_count = static_cast<std::uint32_t>(first_host.open.size());
    std::copy(first_host.open.begin(), first_host.open.end(), std::begin(known.open));
    for (int i = 0; i < slot_count(control); ++i) {
        leave_if_settled(control, i);
    }
}

}  // namespace fluvial::stage
