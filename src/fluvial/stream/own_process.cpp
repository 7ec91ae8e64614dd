// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/own_process.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

struct Registry {
    std::mutex mutex;
    std::vector<ChannelState*> states;
    std::vector<std::shared_ptr<ChannelState>> copies;  ///< of parents, for ever
};

Registry& registry() {
    static auto* const one = new Registry;  // channels may outlive static objects
    return *one;
}

}  // namespace

OwnProcess::OwnProcess(ChannelState& state) : state_(state) {
    static const int registered = pthread_atfork([] { registry().mutex.lock(); },
                                                 [] { registry().mutex.unlock(); }, after_fork);
    static_cast<void>(registered);
    const std::lock_guard lock(registry().mutex);
    registry().states.push_back(&state_);
}

OwnProcess::~OwnProcess() {
    const std::lock_guard lock(registry().mutex);
    std::erase(registry().states, &state_);
}

/// In the child, which has this thread alone and the lock that was taken before.
void OwnProcess::after_fork() {
    Registry& all = registry();
    for (ChannelState* const state : all.states) {
        state->process.copy_ = true;
        for (const auto& stream : state->streams) stream->fast = {};
        if (auto kept = state->weak_from_this().lock()) all.copies.push_back(std::move(kept));
    }
    all.states.clear();
    all.mutex.unlock();
}

}  // namespace fluvial::stream
