// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/own_buffer.hpp"

#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

constexpr int looks_min = 1000;
constexpr std::int64_t patience_ns = 50'000'000;

const move::Outlet* own_link(const StreamState& stream) {
    const ChannelState& channel = *stream.channel;
    const std::vector<int>& consumers = channel.consumers;
    const auto at = std::find(consumers.begin(), consumers.end(), channel.rank);
    if (at == consumers.end() || stream.producer->outlets().empty()) {
        return nullptr;
    }
    if (const move::Outlet* const only = stream.producer->only()) {
        const bool nearest = stream.options.association.kind == Association::Kind::Nearest;
        const int consumer = nearest ? channel.consumer_of[static_cast<std::size_t>(channel.rank)]
                                     : consumers.front();
        return consumer == channel.rank ? only : nullptr;
    }
    return stream.producer->outlets()[static_cast<std::size_t>(at - consumers.begin())].get();
}

Problem problem_of(const StreamState& stream) {
    if (stream.consumer->working()) {
        return {text("the operation of ", stream.name(), " waits for room in its own buffer"), "",
                "", "Use isend() inside of it, or raise buffer_bytes"};
    }
    return {text("a rank waits for room in its own buffer of ", stream.name(),
                 ", which only its next() can make"),
            "", "",
            "Take elements by try_next() in between, use isend() and iterminate(), or raise "
            "buffer_bytes"};
}

}  // namespace

OwnBuffer::OwnBuffer(const StreamState& stream, bool flushes)
    : stream_(stream), flushes_(flushes), own_(own_link(stream)) {}

void OwnBuffer::check() {
    if (own_ == nullptr || (stream_.consumer->operation() && !stream_.consumer->working())) {
        return;
    }
    const std::uint64_t bytes = stream_.producer->bytes();
    if (bytes != bytes_ || !stream_.producer->held_up_by(*own_, flushes_)) {
        bytes_ = bytes;
        looks_ = 0;
        return;
    }
    if (looks_++ == 0) {
        since_ns_ = now_ns();
    }
    if (looks_ < looks_min || now_ns() - since_ns_ < patience_ns) {
        return;
    }
    throw InvalidArgument(problem_of(stream_));
}

}  // namespace fluvial::stream
