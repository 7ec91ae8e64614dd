// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/mailbox.hpp"

#include <algorithm>
#include <utility>

namespace fluvial::flow {

void Mailbox::post(int to, int tag, Bytes bytes) {
    mpi::Request request = comm_->isend(std::move(bytes), to, tag);
    if (!request.test()) {
        posted_.push_back(std::move(request));
    }
}

std::optional<Mailbox::Message> Mailbox::poll(int tag) {
    if (comm_->size() == 1) {
        return std::nullopt;
    }
    if (auto incoming = comm_->try_recv(tag)) {
        if (arriving_.empty() && incoming->message.test()) {
            return Message{incoming->source, incoming->message.take()};
        }
        arriving_.push_back({tag, std::move(*incoming)});
    }
    for (auto it = arriving_.begin(); it != arriving_.end(); ++it) {
        const auto overtakes = [&](const Arriving& earlier) {
            return earlier.tag == tag && earlier.incoming.source == it->incoming.source;
        };
        if (it->tag != tag || std::any_of(arriving_.begin(), it, overtakes) ||
            !it->incoming.message.test()) {
            continue;
        }
        Message message{it->incoming.source, it->incoming.message.take()};
        arriving_.erase(it);
        return message;
    }
    return std::nullopt;
}

bool Mailbox::sent() {
    std::erase_if(posted_, [](mpi::Request& request) { return request.test(); });
    return posted_.empty();
}

void Mailbox::abandon() {
    for (mpi::Request& request : posted_) {
        request.abandon();
    }
    for (Arriving& arriving : arriving_) {
        arriving.incoming.message.abandon();
    }
    posted_.clear();
    arriving_.clear();
}

}  // namespace fluvial::flow
