// SPDX-License-Identifier: Apache-2.0
// Tasks that end before they would by themselves.
#include <vector>

#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

bool Server::cancel(const FuturePtr& future, bool running) {
    take_submissions();
    const auto found = tasks_.find(future->task);
    if (running && found != tasks_.end() && !found->second.team.empty()) {
        return cancel_running(found->second) || (future->done() && future->cancelled);
    }
    if (found != tasks_.end() && !found->second.over && take_own_order_back(future->task)) {
        take_back(found);
    }
    if (found == tasks_.end() || !found->second.team.empty() || found->second.over ||
        found->second.continues) {
        return future->done() && future->cancelled;
    }
    if (found->second.in_scheduler) {
        scheduler_.remove(future->task);
        found->second.in_scheduler = false;
    }
    settle(found->second, cancelled_before_it_began(), true);
    tasks_.erase(future->task);
    return true;
}

/// Its rank has said that it will not begin it. False when nobody waits for it any more.
bool Server::unstart(Tasks::iterator task) {
    const TaskId id = task->first;
    limited_.erase(id);
    changed_ = true;
    if (task->second.over && !task->second.again) {
        scheduler_.finish(id, unknown_s);
        tasks_.erase(task);
        return false;
    }
    task->second.over = false;
    task->second.again = false;
    task->second.over_ns = 0;
    task->second.team.clear();
    task->second.future->place = -1;
    task->second.future->phase.store(Phase::Waiting, std::memory_order_release);
    return true;
}

/// The rank has a task that lasts, behind which it was sent.
void Server::take_back(Tasks::iterator task) {
    if (unstart(task)) {
        scheduler_.take_back(request_of(task->second));
        task->second.in_scheduler = true;
    }
}

/// Its ranks are used again when they come back, however long that takes, unless one has failed:
/// then others may wait for it.
bool Server::cancel_running(Task& task) {
    if (task.over && !task.again) {
        return false;
    }
    const TaskId id = task.future->task;
    const bool had_failed = task.over;
    settle(task, TaskFailure{"TaskCancelled", "the task was cancelled while it ran", -1, {}}, true);
    if (!had_failed) {
        limited_.erase(id);
    }
    call_back(task);
    return true;
}

/// Nobody waits for what its ranks do.
void Server::call_back(const Task& task) {
    for (const int rank : task.team) {
        if (alone_) {
            own_cancelled_.insert(task.future->task);
        } else if (!lost_.contains(rank)) {
            Order::write_cancel(orders_to(rank), task.future->task);
        }
    }
}

/// In a pool of one rank, where what was sent ahead is still here.
bool Server::take_own_order_back(TaskId task) {
    return std::erase_if(own_orders_, [task](const Order& order) { return order.task == task; }) >
           0;
}

bool Server::own_is_cancelled(TaskId task) {
    const auto found = tasks_.find(task);
    if (found != tasks_.end() && !found->second.over && is_late(found->second)) {
        fail_running(found->second, outlived(found->second));
    }
    return own_cancelled_.contains(task);
}

/// Some of its ranks still run it.
void Server::fail_running(Task& task, const TaskFailure& failure) {
    if (task.over_ns == 0) {
        call_back(task);
    }
    fail(task, failure);
}

void Server::cancel_all() {
    take_submissions();
    std::vector<FuturePtr> waiting;
    for (const auto& [id, task] : tasks_) {
        if (task.team.empty()) {
            waiting.push_back(task.future);
        }
    }
    for (const FuturePtr& future : waiting) {
        cancel(future);
    }
}

void Server::break_off(const TaskFailure& why) {
    give_up(why);
    stop();
    tell_relays_to_stop();
}

void Server::give_up(const TaskFailure& why) {
    take_submissions();
    fail_fetches(why);
    while (!tasks_.empty()) {
        const auto first = tasks_.begin();
        if (!first->second.over || first->second.again) {
            settle(first->second, why);
        }
        tasks_.erase(first->first);
    }
    limited_.clear();
    awaited_.clear();
}

}  // namespace fluvial::flow
