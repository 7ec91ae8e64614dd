// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/task_messages.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/mpi/check.hpp"

namespace fluvial::flow {

namespace {

constexpr double dead_after_trouble_s = 5;

}  // namespace

void TaskMessages::post(int to, int tag, Bytes bytes) {
    keep(to, comm_->isend(std::move(bytes), to, tag));
}

void TaskMessages::post(int to, int tag, std::span<const std::byte> part,
                        const std::shared_ptr<const Bytes>& kept) {
    keep(to, comm_->isend(part, kept, to, tag));
}

void TaskMessages::keep(int to, mpi::Request request) {
    if (!has_left(request)) {
        posted_.push_back({to, std::move(request)});
    }
}

bool TaskMessages::is_whole(Arriving& arriving) {
    mpi::Request& message = arriving.incoming.message;
    try {
        return !arriving.broken && message.test();
    } catch (const mpi::CallFailed&) {
        const bool of_lost = lost_.contains(arriving.incoming.source);
        const bool over = !message.in_flight();
        note_trouble(of_lost || (!over && !lost_.empty()));
        arriving.broken = over || of_lost;
        return false;
    }
}

bool TaskMessages::has_left(mpi::Request& request) {
    try {
        return request.test();
    } catch (const mpi::CallFailed&) {
        note_trouble(!lost_.empty());
        return !request.in_flight();
    }
}

/// Excused: there may be more of a rank that is lost, which MPI finds later, in any of its calls.
void TaskMessages::note_trouble(bool excused) {
    if (!trouble_ && !excused) {
        trouble_ = Trouble{std::current_exception(), Deadline(dead_after_trouble_s)};
    }
}

void TaskMessages::check_trouble() const {
    if (trouble_ && trouble_->deadline.passed()) {
        std::rethrow_exception(trouble_->error);
    }
}

void TaskMessages::give_up_on(int rank) {
    lost_.insert(rank);
    trouble_.reset();
    std::erase_if(arriving_, [rank](Arriving& arriving) {
        if (arriving.incoming.source == rank) {
            arriving.incoming.message.abandon();
        }
        return arriving.incoming.source == rank;
    });
    forget(rank);
}

void TaskMessages::forget(int rank) {
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
    check_trouble();
    try {
        if (auto incoming = comm_->try_recv(tag)) {
            Arriving arriving{tag, std::move(*incoming)};
            if (arriving_.empty() && is_whole(arriving)) {
                return Message{arriving.incoming.source, arriving.incoming.message.take()};
            }
            arriving_.push_back(std::move(arriving));
        }
    } catch (const mpi::CallFailed&) {
        note_trouble(!lost_.empty());
    }
    std::erase_if(arriving_, [this](Arriving& one) {
        const bool gone = one.broken && lost_.contains(one.incoming.source);
        if (gone) {
            one.incoming.message.abandon();
        }
        return gone;
    });
    for (auto it = arriving_.begin(); it != arriving_.end(); ++it) {
        const auto overtakes = [&](const Arriving& earlier) {
            return earlier.tag == tag && earlier.incoming.source == it->incoming.source;
        };
        if (it->tag != tag || std::any_of(arriving_.begin(), it, overtakes) || !is_whole(*it)) {
            continue;
        }
        Message message{it->incoming.source, it->incoming.message.take()};
        arriving_.erase(it);
        return message;
    }
    return std::nullopt;
}

bool TaskMessages::sent() {
    check_trouble();
    std::erase_if(posted_, [this](Posted& posted) { return has_left(posted.request); });
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
