// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/stream_end.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/slot_state.hpp"

namespace fluvial::stage {
namespace {

/// Where steps are shared out: another group has one that would come to this one, should that
/// leave or die.
bool more_may_come(const ControlBlock& control, int group) {
    const ControlHeader& header = control.header();
    if (header.steps_to == StepsTo::All || header.follows != 0 ||
        control.group(group).observes != 0) {
        return false;
    }
    for (const Slot& slot : control.slots()) {
        for (int other = 0; other < groups_max; ++other) {
            if (other != group && state_of(slot) == SlotState::Complete && slot.need[other] != 0) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

bool at_end(const ControlBlock& control, int cell, double stall_timeout_s) {
    const ControlHeader& header = control.header();
    const int index = static_cast<int>(control.reader(cell).group);
    const GroupCell& group = control.group(index);
    // An active group has been given every step that is left for it (take came first): the highest
    // complete ones may have been discarded. One that a rank has left is at the end only if it has
    // seen them all.
    const bool has_all =
        (group.state == GroupState::Active && !more_may_come(control, index)) ||
        (group.state == GroupState::Leaving &&
         (group.next_step >= header.counters.complete_end || header.steps_to != StepsTo::All));
    if (has_all && header.failure.set == 0 && header.writers_closed == header.writer_ranks) {
        return true;
    }
    if (group.state == GroupState::Evicted) {
        throw PeerStalled(
            Problem{text("this reader lost its place in '", header.name, "'"), group.departed, "",
                    "Attach again to go on with later steps; what was read stays valid"});
    }
    const std::string stalled =
        header.failure.set != 0 ? "" : stalled_writer(control, stall_timeout_s);
    if (!stalled.empty()) {
        reap(control);  // a rank that looks stopped may be dead, and no process may have noticed
    }
    if (header.failure.set != 0) {
        throw_error(header.failure.kind,
                    text(header.failure.message, "; all ", header.counters.steps_completed,
                         " complete steps were available before"));
    }
    // After the failure: it may be why the other rank has left.
    if (group.state != GroupState::Active) {
        throw PeerLost(
            Problem{text("this reader cannot go on with '", header.name, "'"), group.departed, "",
                    "All ranks of a reader take the same steps; restart the reading job"});
    }
    if (!stalled.empty()) {
        throw PeerStalled(Problem{stalled, "", "",
                                  text("It is stopped or its host is overloaded (stall_timeout=",
                                       stall_timeout_s, " s); try again once it runs")});
    }
    return false;
}

}  // namespace fluvial::stage
