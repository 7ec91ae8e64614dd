// SPDX-License-Identifier: Apache-2.0
/// What the bindings of a channel's streams and of its threshold collectives have in common.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>

#include <nanobind/nanobind.h>

#include "fluvial/base/only_thread.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stream/stream.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold_collective.hpp"

namespace fluvial::python {

namespace nb = nanobind;

inline stream::ChannelState* of(const stream::Channel& channel) {
    return channel.state().get();
}
inline stream::ChannelState* of(const stream::ThresholdCollective& threshold) {
    return threshold.channel().get();
}
/// The channel of a Stream, or of the stream of a Pending or an Inquiry, which may have none.
template <class Part>
stream::ChannelState* of(const Part& part) {
    if constexpr (std::is_same_v<Part, stream::Stream>) {
        return part.state()->channel.get();
    } else {
        return part.stream() ? part.stream()->channel.get() : nullptr;
    }
}

/// While an Alone exists, no other thread is in the channel, and this one has no GIL.
class Alone {
  public:
    template <class Handle>
    explicit Alone(const Handle& handle) {
        stream::ChannelState* const channel = of(handle);
        if (channel != nullptr) {
            call_.emplace(channel->only_thread);
        }
        release_.emplace();
        if (channel != nullptr) {
            inside_.emplace(channel->served);  // another thread may run its operations
        }
    }

  private:
    std::optional<OnlyThread::Call> call_;
    std::optional<nb::gil_scoped_release> release_;
    std::optional<progress::Served::Inside> inside_;
};

/// The method, called Alone.
template <class Handle, class Result, class... Arguments>
auto alone(Result (Handle::*method)(Arguments...)) {
    return [method](Handle& self, Arguments... arguments) -> Result {
        const Alone alone(self);
        return (self.*method)(arguments...);
    };
}

/// What fails on one rank fails on all, so that no rank waits for it.
void agree(const stream::Channel& channel, stream::Collective purpose,
           const std::function<void()>& prepare);

void bind_threshold(nb::module_& m);

}  // namespace fluvial::python
