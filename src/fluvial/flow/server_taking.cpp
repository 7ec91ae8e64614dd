// SPDX-License-Identifier: Apache-2.0
// Tasks from their submission until the scheduler has them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/gang.hpp"
#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

bool Server::take_submissions() {
    std::vector<Submission> taken;
    std::vector<Following> following;
    std::vector<std::shared_ptr<Kept>> asked;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(submitted_);
        following.swap(following_);
        asked.swap(asked_);
    }
    for (Submission& submission : taken) {
        accept(std::move(submission));
    }
    for (const Following& one : following) {
        accept(one);
    }
    for (const std::shared_ptr<Kept>& kept : asked) {
        have_given(kept);
    }
    return !taken.empty() || !following.empty() || !asked.empty();
}

void Server::accept(Submission submission) {
    Task task;
    task.future = std::move(submission.future);
    task.function = submission.function;
    task.inputs = std::move(submission.inputs);
    task.options = shared_options(std::move(submission.options));
    task.kind = number_of(kind_of(task));
    task.gang = std::move(submission.gang);
    const TaskId id = task.future->task;
    Task& kept = tasks_.emplace(id, std::move(task)).first->second;
    if (kept.gang && kept.gang->broken) {
        settle(kept, *kept.gang->broken);
        tasks_.erase(id);
        return;
    }
    for (const Input& input : kept.inputs) {
        const FuturePtr* const other = future_of(input);
        if (other != nullptr && (*other)->done() && (*other)->failure) {
            fail(kept, *(*other)->failure);
            tasks_.erase(id);
            return;
        }
    }
    for (const Input& input : kept.inputs) {
        if (const FuturePtr* const other = future_of(input)) {
            wait_for(kept, *other);
        }
    }
    if (kept.options->near_task) {
        wait_for(kept, kept.options->near_task);
    }
    if (kept.inputs_missing == 0) {
        schedule(kept);
    }
}

void Server::wait_for(Task& task, const FuturePtr& other) {
    if (!other->done()) {
        other->make_ties().dependents.push_back(task.future->task);
        ++task.inputs_missing;
    }
}

/// Programs submit many tasks with the same options.
std::shared_ptr<const TaskOptions> Server::shared_options(TaskOptions options) {
    if (options.near_task) {  // which is not to be kept for longer than this task
        return std::make_shared<const TaskOptions>(std::move(options));
    }
    if (!last_options_ || !(*last_options_ == options)) {
        last_options_ = std::make_shared<const TaskOptions>(std::move(options));
    }
    return last_options_;
}

std::uint32_t Server::number_of(const std::string& kind) {
    const auto found = kinds_.find(kind);
    return found != kinds_.end()
               ? found->second
               : kinds_.emplace(kind, static_cast<std::uint32_t>(kinds_.size())).first->second;
}

const std::string& Server::kind_of(const Task& task) const {
    return task.options->kind.empty() ? functions_.at(task.function).name : task.options->kind;
}

Needs Server::needs_of(const TaskOptions& options) const {
    Needs needs{options.exclusive, {}};
    if (!options.resources.empty()) {
        for (const auto& [name, amount] : resources_) {
            const auto wanted = options.resources.find(name);
            needs.amounts.push_back(wanted == options.resources.end() ? 0 : wanted->second);
        }
    }
    return needs;
}

/// What the scheduler is to know of a task that starts alone.
Request Server::request_of(const Task& task) const {
    const TaskOptions& options = *task.options;
    Request request{task.future->task, options.ranks, options.priority,
                    options.cost_s,    task.kind,     options.near,
                    needs_of(options), task.avoid,    !std::isinf(options.timeout_s)};
    if (options.near_task) {
        const int place = options.near_task->place;
        const Near wish = request.near.value_or(Near{});
        request.near.reset();
        if (roles_.runs_tasks(place) && !lost_.contains(place)) {
            request.near = Near{place, wish.anywhere_on_host, wish.strict};
        }
    }
    if (const int keeper = keeper_of_input(task); !request.near && keeper >= 0) {
        request.near = Near{keeper};
    }
    if (request.near) {
        request.near->rank = worker_of(request.near->rank);
    }
    return request;
}

void Server::schedule(Task& task) {
    const TaskId id = task.future->task;
    if (task.gang) {
        schedule_together(task);
        return;
    }
    if (has_become_too_wide(task)) {
        settle(task, too_wide(least_width(task)));
        tasks_.erase(id);
        return;
    }
    try {
        scheduler_.add(request_of(task), now_s());
        task.in_scheduler = true;
        changed_ = true;
    } catch (const Error& error) {
        settle(task, TaskFailure{error.kind(), error.what(), -1, {}});
        tasks_.erase(id);
    }
}

}  // namespace fluvial::flow
