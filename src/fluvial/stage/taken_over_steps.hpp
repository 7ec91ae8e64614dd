// SPDX-License-Identifier: Apache-2.0
/// The steps of a reader elsewhere whose service has died, as the rank that takes it over finds
/// them: the control block knows what the reader was given, and the reader what came.
#pragma once

#include <cstdint>
#include <vector>

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/remote_messages.hpp"

namespace fluvial::stage {

struct TakenOverSteps {
    struct Step {
        std::uint64_t step;
        int slot;
    };
    std::vector<Step> held;    ///< in the hands of the reader
    std::vector<Step> unsent;  ///< did not reach it; in their order
    SeatStats stats{};
};

/// Gives back what the reader has finished with, and tells the rest apart. Under the control lock.
/// Throws PeerLost, and changes nothing, when a step that did not reach the reader has left the
/// queue: it had been on its way, and its place was free already.
TakenOverSteps take_over_steps(const ControlBlock& control, int cell, const GoesOnMessage& message);

}  // namespace fluvial::stage
