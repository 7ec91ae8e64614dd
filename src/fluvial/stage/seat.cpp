// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/seat.hpp"

#include "fluvial/stage/control_block.hpp"

namespace fluvial::stage {

void StepAccess::read(const std::vector<ChunkBox>&, DType, const std::string& what) {
    throw Error(text("parts of ", what, " are asked of what reads whole chunks"));
}

TimedOut no_step_in_time(const std::string& name, double step_timeout_s, bool others_lag) {
    if (others_lag) {
        return TimedOut(Problem{
            text("this rank could not have the next step of '", name,
                 "' within step_timeout=", step_timeout_s, " s"),
            text("another rank of this reader is ", slots_max, " steps behind"), "",
            "Let the ranks of a reader read at one pace, e.g. by a barrier now and then, raise "
            "step_timeout, or call again"});
    }
    return TimedOut(
        Problem{text("no step of '", name, "' came within step_timeout=", step_timeout_s, " s"), "",
                "", "The writer is alive but slow: raise step_timeout, or call again"});
}

}  // namespace fluvial::stage
