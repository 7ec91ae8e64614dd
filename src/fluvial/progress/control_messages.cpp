// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/control_messages.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::progress {

namespace {

/// What a message begins with.
struct Heading {
    ControlTopic kind = ControlTopic::Failed;
    std::uint8_t unused[3] = {};
    std::int32_t stream = 0;
};
static_assert(sizeof(Heading) == 8);

ControlMessage open(int from, const Bytes& message) {
    ByteReader reader(message);
    const auto heading = reader.get<Heading>();
    return {heading.kind, from, heading.stream, {message.begin() + sizeof heading, message.end()}};
}

}  // namespace

void ControlMessages::post(int to, ControlTopic kind, int stream,
                           std::span<const std::byte> bytes) {
    under_way_ += is_about_others(kind) ? 0 : 1;
    if (to == comm_->rank()) {
        to_self_.push_back({kind, to, stream, {bytes.begin(), bytes.end()}});
        return;
    }
    ByteWriter message;
    message.put(Heading{kind, {}, stream});
    message.append(bytes.data(), bytes.size());
    posted_.push_back(comm_->isend(message.take(), to, control_tag));
    ++posted_to_[static_cast<std::size_t>(to)];
    sent();
    if (ring_) {
        ring_(to);
    }
}

std::optional<ControlMessage> ControlMessages::poll() {
    std::optional<ControlMessage> message = next();
    if (message && !is_about_others(message->kind)) {
        --under_way_;
    }
    return message;
}

std::optional<ControlMessage> ControlMessages::next() {
    if (!to_self_.empty()) {
        ControlMessage message = std::move(to_self_.front());
        to_self_.pop_front();
        return message;
    }
    if (comm_->size() == 1) {
        return std::nullopt;
    }
    if (auto incoming = comm_->try_recv(control_tag)) {
        arriving_.push_back(std::move(*incoming));
    }
    for (auto it = arriving_.begin(); it != arriving_.end(); ++it) {
        const auto overtakes = [&](const mpi::Incoming& earlier) {
            return earlier.source == it->source;
        };
        if (std::any_of(arriving_.begin(), it, overtakes) || !it->message.test()) {
            continue;
        }
        ControlMessage message = open(it->source, it->message.take());
        arriving_.erase(it);
        ++taken_;
        return message;
    }
    return std::nullopt;
}

bool ControlMessages::sent() {
    std::erase_if(posted_, [](mpi::Request& request) { return request.test(); });
    return posted_.empty();
}

void ControlMessages::drain() {
    const Index coming = comm_->sum_for_each(posted_to_);
    const auto drained = [&] {
        while (poll()) {
        }
        return taken_ == coming && sent();
    };
    mpi::wait_for(drained, Deadline(1e9), "take the last control messages");
}

void ControlMessages::abandon() {
    for (mpi::Request& request : posted_) {
        request.abandon();
    }
    for (mpi::Incoming& incoming : arriving_) {
        incoming.message.abandon();
    }
    posted_.clear();
    arriving_.clear();
}

}  // namespace fluvial::progress
