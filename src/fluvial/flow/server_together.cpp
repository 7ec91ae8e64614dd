// SPDX-License-Identifier: Apache-2.0
// Tasks that start together, because they wait for each other: those of one stream, say.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/gang.hpp"
#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

void Server::submit_together(std::vector<Submission> submissions) {
    const auto gang = std::make_shared<Gang>();
    gang->scheduled = submissions.front().future->task;
    for (const Submission& submission : submissions) {
        gang->members.push_back(submission.future->task);
    }
    const std::lock_guard lock(mutex_);
    for (Submission& submission : submissions) {
        submission.gang = gang;
        submitted_.push_back(std::move(submission));
    }
}

/// A member has its inputs. With the last one the gang waits for ranks.
void Server::schedule_together(Task& task) {
    Gang& gang = *task.gang;
    if (++gang.ready < static_cast<int>(gang.members.size())) {
        return;
    }
    if (has_become_too_wide(task)) {
        const TaskId id = task.future->task;
        settle(task, too_wide(least_width(task)));
        tasks_.erase(id);
        return;
    }
    Request request{.task = gang.scheduled};
    request.at_once = true;  // they wait for each other
    request.widths = {least_width(task), least_width(task), {}};
    request.cost_s = 0;
    request.kind = tasks_.at(gang.scheduled).kind;
    request.priority = task.options->priority;
    for (const TaskId id : gang.members) {
        const TaskOptions& options = *tasks_.at(id).options;
        request.priority = std::max(request.priority, options.priority);
        // One of unknown length makes the gang's unknown.
        request.cost_s = std::isnan(options.cost_s)   ? options.cost_s
                         : std::isnan(request.cost_s) ? request.cost_s
                                                      : std::max(request.cost_s, options.cost_s);
    }
    Task& known = tasks_.at(gang.scheduled);
    try {
        scheduler_.add(request, now_s());
        known.in_scheduler = true;
        changed_ = true;
    } catch (const Error& error) {
        settle(task, TaskFailure{error.kind(), error.what(), -1, {}});
        tasks_.erase(task.future->task);
    }
}

/// Of the task alone, or of all that start with it.
int Server::least_width(const Task& task) const {
    if (!task.gang) {
        return task.options->ranks.least;
    }
    int ranks = 0;
    for (const TaskId id : task.gang->members) {
        ranks += tasks_.at(id).options->ranks.least;
    }
    return ranks;
}

/// Neighbours on the ranks that were found for all.
void Server::start_together(Gang& gang, const Start& start) {
    gang.running = static_cast<int>(gang.members.size());
    auto next = start.ranks.begin();
    for (const TaskId id : gang.members) {
        Task& member = tasks_.at(id);
        const auto end = next + member.options->ranks.least;
        start_on(member, {next, end});
        next = end;
    }
}

/// A member has failed, or was cancelled, before the gang began: the others will not begin.
void Server::break_up(const Task& task) {
    Gang& gang = *task.gang;
    if (gang.broken) {
        return;
    }
    const std::shared_ptr<Gang> kept = task.gang;
    const FuturePtr future = task.future;
    gang.broken = *future->failure;
    for (const TaskId id : kept->members) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end()) {
            continue;
        }
        if (std::exchange(found->second.in_scheduler, false)) {
            scheduler_.remove(id);
        }
        if (id != future->task) {
            settle(found->second, *gang.broken, future->cancelled);
            tasks_.erase(id);
        }
    }
}

/// The ranks of the last one have come back.
bool Server::all_are_back(const Task& task, double& took_s) {
    Gang& gang = *task.gang;
    const bool unknown = std::isnan(took_s) || std::isnan(gang.took_s);
    gang.took_s = unknown ? unknown_s : std::max(gang.took_s, took_s);
    took_s = gang.took_s;
    return --gang.running == 0;
}

}  // namespace fluvial::flow
