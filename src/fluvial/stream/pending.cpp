// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/pending.hpp"

#include <utility>

#include "fluvial/stream/own_buffer.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

Pending::Pending(std::shared_ptr<StreamState> stream, std::shared_ptr<Sending> sending)
    : stream_(std::move(stream)), sending_(std::move(sending)) {}

bool Pending::complete() const {
    if (!stream_) {
        return true;
    }
    return sending_ ? sending_->reusable() : stream_->terminated;
}

bool Pending::test() {
    if (complete()) {
        return true;
    }
    const progress::Served::Inside inside(stream_->channel->served);
    stream_->channel->check_usable();
    stream_->channel->progress();
    return complete();
}

void Pending::wait() {
    if (test()) {
        return;
    }
    const Activity activity = sending_ ? Activity::Stalled : Activity::Terminating;
    const Trace::Span span(stream_->channel->trace.events.get(), activity, stream_->number);
    // Where no call may wait for room, it is enough that the user's memory may be used again.
    const bool keeps = !stream_->channel->may_wait();
    ProducerEnd& producer = *stream_->producer;
    if (keeps) {
        producer.keep_queued();
    }
    OwnBuffer own(*stream_, sending_ == nullptr);
    stream_->channel->wait(text("send to ", stream_->name()), [&] {
        return complete() || (keeps && !producer.reads_users_memory()) || (own.check(), false);
    });
}

}  // namespace fluvial::stream
