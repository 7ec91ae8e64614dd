// SPDX-License-Identifier: Apache-2.0
// Tasks whose results other tasks make.
#include <utility>

#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

/// The task's result will be that of another task, which the program names by follow().
void Server::go_on(Task& task, Bytes message) {
    task.future->make_ties().continuation = shared_bytes(std::move(message));
    task.continues = told_(task.future);
    if (!task.continues) {
        settle(
            task,
            TaskFailure{
                "Error", "a task continues, in a pool that does not collect what is done", -1, {}});
    }
}

void Server::follow(FuturePtr future, FuturePtr other) {
    const std::lock_guard lock(mutex_);
    following_.push_back({std::move(future), std::move(other)});
}

void Server::accept(const Following& following) {
    const auto found = tasks_.find(following.future->task);
    if (found == tasks_.end() || !found->second.continues || found->second.over) {
        return;
    }
    if (following.other->done()) {
        settle_like(found->second, *following.other);
        tasks_.erase(following.future->task);
    } else {
        following.other->make_ties().dependents.push_back(following.future->task);
    }
}

void Server::settle_like(Task& task, const FutureState& other) {
    if (other.ties && other.ties->kept) {
        task.future->make_ties().kept = other.ties->kept;
    }
    settle(task, other.result, other.failure, other.cancelled);
}

}  // namespace fluvial::flow
