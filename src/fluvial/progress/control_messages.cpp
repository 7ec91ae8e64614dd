// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/control_messages.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"

namespace fluvial::progress {

namespace {

/// What a message begins with.
struct Heading {
    Topic topic;
    std::int32_t subject = 0;
};
static_assert(sizeof(Heading) == 8);

ControlMessage open(int from, const Bytes& message) {
    ByteReader reader(message);
    const auto heading = reader.get<Heading>();
    return {
        heading.topic, from, heading.subject, {message.begin() + sizeof heading, message.end()}};
}

}  // namespace

void ControlMessages::post(int to, Topic topic, int subject, std::span<const std::byte> bytes) {
    under_way_ += topic.is_work() ? 1 : 0;
    if (to == comm_->rank()) {
        to_self_.push_back({topic, to, subject, {bytes.begin(), bytes.end()}});
        return;
    }
    ByteWriter message;
    message.put(Heading{topic, subject});
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
    if (message && message->topic.is_work()) {
        --under_way_;
    }
    return message;
}

void ControlMessages::on(Topic topic, std::function<bool(const ControlMessage&)> handler) {
    if (!handlers_.emplace(topic, std::move(handler)).second) {
        throw Error("two topics of control messages have the same name, or the same hash of it");
    }
}

bool ControlMessages::handle(const ControlMessage& message) const {
    const auto found = handlers_.find(message.topic);
    if (found == handlers_.end()) {
        throw Error(Problem{"a control message of an unknown topic",
                            text("from rank ", message.from), "the topics of this version",
                            "Run the same version of Fluvial on all ranks"});
    }
    return found->second(message);
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
    wait_until(drained, "the last control messages did not come");
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
