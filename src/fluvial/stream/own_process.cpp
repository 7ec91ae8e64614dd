// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/own_process.hpp"

#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

void OwnProcess::become_copy() {
    for (const auto& stream : state_.streams) {
        stream->fast = {};
    }
    kept_ = state_.weak_from_this().lock();
}

}  // namespace fluvial::stream
