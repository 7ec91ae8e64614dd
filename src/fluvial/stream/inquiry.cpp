// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/inquiry.hpp"

#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

Inquiry& Inquiry::operator=(Inquiry&& other) noexcept {
    forget();
    stream_ = std::move(other.stream_);
    number_ = other.number_;
    return *this;
}

Inquiry::~Inquiry() {
    forget();
}

void Inquiry::forget() {
    if (stream_) {
        stream_->query->forget(number_);
    }
}

bool Inquiry::test() {
    if (!stream_ || stream_->query->result(number_) != nullptr) {
        return true;
    }
    const progress::Served::Inside inside(stream_->channel->served);
    stream_->channel->check_usable();
    stream_->channel->progress();
    return stream_->query->result(number_) != nullptr;
}

const Outcome& Inquiry::wait() {
    if (!stream_) {
        throw InvalidArgument(Problem{"nothing was asked", "", "", "Call iquery first"});
    }
    if (!test()) {
        stream_->channel->wait(text("answer a query of ", stream_->name()),
                               [this] { return stream_->query->result(number_) != nullptr; });
    }
    return *stream_->query->result(number_);
}

Inquiry Stream::iquery() {
    StreamState& state = *state_;
    const progress::Served::Inside inside(state.channel->served);
    state.channel->check_usable();
    if (!state.producer) {
        throw InvalidArgument(Problem{text("a rank that does not produce queries ", state.name()),
                                      text("rank ", state.channel->rank), "producers",
                                      "Consumers have their operation at hand"});
    }
    if (state.consumer && state.consumer->working()) {
        throw InvalidArgument(Problem{
            text("the operation of ", state.name(), " queries its own stream"), "", "",
            "Query after the operation has returned: it cannot tell its result while it works"});
    }
    Inquiry inquiry;
    inquiry.number_ = state.query->ask();
    inquiry.stream_ = state_.shared();
    return inquiry;
}

Outcome Stream::query() {
    return iquery().wait();
}

}  // namespace fluvial::stream
