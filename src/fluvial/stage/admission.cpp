// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/admission.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/yielding_groups.hpp"

namespace fluvial::stage {
namespace {

Begin begin_of(const AttachRequest& request) {
    return {request.start, request.from,
            request.full < 0 ? std::nullopt : std::optional(static_cast<FullPolicy>(request.full))};
}

}  // namespace

void check_admissible(const ControlBlock& control, const AttachRequest& request) {
    if (request.size < 1 || request.rank < 0 || request.rank >= request.size ||
        request.group >= groups_max) {
        throw InvalidArgument(Problem{"a reader rank cannot attach",
                                      text("rank ", request.rank, " of ", request.size),
                                      "a rank below the size of its job", ""});
    }
    if (request.size > readers_max) {
        throw InvalidArgument(Problem{"a reading job has too many ranks", text(request.size),
                                      text("at most ", readers_max), "Use fewer ranks"});
    }
    if ((request.start == Start::First || request.start == Start::At) &&
        control.header().retains == 0) {
        throw InvalidArgument(Problem{"the stream does not keep the steps that are wanted",
                                      request.start == Start::At ? "resume" : "start='first'",
                                      "a stream that is written with retain",
                                      "Give the writer the option retain"});
    }
    if (request.start != Start::Observe) {
        check_policy(control, request.full);
    }
}

AttachReply admit_reader(const ControlBlock& control, const StepLog* log,
                         const AttachRequest& request) {
    check_admissible(control, request);
    const ControlLock lock(control);
    const int group = request.group >= 0
                          ? request.group
                          : open_group(control, request.size, begin_of(request), log);
    if (control.group(group).state != GroupState::Joining) {
        throw PeerLost(
            "the reader job that this rank belongs to is not joining the stream any more");
    }
    try {
        return {open_reader(control, group, request.rank, request.pid), group,
                control.group(group).next_step};
    } catch (const Error&) {
        if (request.group < 0) {
            close_group(control, group);
        }
        throw;
    }
}

}  // namespace fluvial::stage
