// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handed_out_steps.hpp"

#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {

HandedOutSteps::Step& HandedOutSteps::add(std::uint64_t step, const Taken& taken) {
    Step& added = steps_[step];
    added.taken = taken;
    held_.insert(step);
    return added;
}

void HandedOutSteps::spend(std::uint64_t step, Step& handed_out) {
    if (handed_out.taken) {
        spent_.push_back(*std::exchange(handed_out.taken, std::nullopt));
    }
    held_.erase(step);
}

bool HandedOutSteps::note_sent(std::uint64_t raw_sent) {
    bool any = false;
    for (; !complete_.empty(); complete_.pop_front()) {
        const auto [step, raw_posted] = complete_.front();
        if (!held_.contains(step)) {  // the reader was faster
            continue;
        }
        if (step != *held_.begin() || raw_sent < raw_posted) {
            break;
        }
        spend(step, steps_.at(step));
        any = true;
    }
    return any;
}

void HandedOutSteps::finish(std::uint64_t step) {
    const auto found = steps_.find(step);
    if (found == steps_.end()) {
        throw Error(text("it gives back step ", step, ", which it does not have"));
    }
    spend(step, found->second);
    steps_.erase(found);
}

std::shared_ptr<const Bytes> HandedOutSteps::common_at(const CommonAt& at) const {
    for (const auto& [step, handed_out] : steps_) {
        const StepMessages::Message& message = handed_out.message;
        if (message.common && message.common_at.hash == at.hash &&
            message.common_at.bytes == at.bytes) {
            return message.common;
        }
    }
    throw PeerLost(Problem{"the description of a step is asked for", "one that is not here", "",
                           "It is lost if the writer's rank that sent the step has died"});
}

void HandedOutSteps::let_go(const ControlBlock& control, int cell) {
    for (const Taken& taken : spent_) {
        if (taken.logged) {
            finish_logged(control, cell);
        } else {
            finish_reading(control, cell, taken.slot);
            release_lease(control, cell, taken.slot);
        }
    }
    spent_.clear();
}

}  // namespace fluvial::stage
