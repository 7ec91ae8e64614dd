// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/task_messages.hpp"

#include <algorithm>
#include <utility>

namespace fluvial::flow {

void TaskMessages::post(int to, int tag, Bytes bytes) {
    keep(to, comm_->isend(std::move(bytes), to, tag));
}

void TaskMessages::post(int to, int tag, std::span<const std::byte> part,
                        const std::shared_ptr<const Bytes>& kept) {
    keep(to, comm_->isend(part, kept, to, tag));
}

void TaskMessages::keep(int to, mpi::Request request) {
    if (!request.test()) {
        posted_.push_back({to, std::move(request)});
    }
}

void TaskMessages::give_up_on(int rank) {
    std::erase_if(posted_, [rank](Posted& posted) {
        if (posted.to == rank) {
            posted.request.abandon();
        }
        return posted.to == rank;
    });
}

std::optional<TaskMessages::Message> TaskMessages::poll(int tag) {
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

bool TaskMessages::sent() {
    std::erase_if(posted_, [](Posted& posted) { return posted.request.test(); });
    return posted_.empty();
}

void TaskMessages::abandon() {
    for (Posted& posted : posted_) {
        posted.request.abandon();
    }
    for (Arriving& arriving : arriving_) {
        arriving.incoming.message.abandon();
    }
    posted_.clear();
    arriving_.clear();
}

}  // namespace fluvial::flow
