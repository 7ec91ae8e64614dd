// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/scheduler.hpp"

#include <algorithm>
#include <cmath>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/plan.hpp"

namespace fluvial::flow {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();
constexpr std::size_t planned_tasks_max = 2048;
/// A step of list scheduling takes about this; planning takes a hundredth of all time.
constexpr double step_s = 5e-9;
constexpr double planning_part = 0.01;
/// A plan is made anew when something has changed, and an eighth of it has come to pass.
constexpr std::size_t rounds_per_plan = 8;

}  // namespace

Scheduler::Scheduler(const std::vector<int>& hosts, const SchedulerOptions& options)
    : options_(options),
      ranks_(static_cast<int>(hosts.size())),
      idle_(hosts),
      brief_tasks_(hosts.size()),
      in_room_(hosts.size()) {}

double Scheduler::age_limit_s() const {
    if (!std::isnan(options_.age_limit_s)) {
        return options_.age_limit_s;
    }
    constexpr double backlogs = 1.25;
    constexpr double typical_tasks = 1;
    return backlogs * waiting_.work() / std::max(1, ranks_) + typical_tasks * book_.typical_s();
}

void Scheduler::add(const Request& request, double now_s) {
    if (request.widths.least < 1 || request.widths.least > ranks_) {
        throw InvalidArgument(Problem{"no team can be as wide as a task wants",
                                      text(request.widths.least, " ranks"),
                                      text("1 to ", ranks_, " ranks of this pool that serve"),
                                      "Ask for fewer ranks, or start a larger pool"});
    }
    const double estimate = book_.estimate_s(request.kind, request.widths.most, request.cost_s);
    const double length = std::isnan(estimate) ? book_.typical_s() : estimate;
    waiting_.add(request, now_s, length * request.widths.least);
    ++added_;
}

std::vector<TaskId> Scheduler::retire(int rank) {
    idle_.retire(rank);
    --ranks_;
    plan_.clear();
    waiting_.limit_age(age_limit_s());
    return waiting_.take_wider_than(ranks_);
}

bool Scheduler::brief(const Batch& batch) const {
    return options_.prefetch > 1 && batch.serial() && !batch.like.near &&
           book_.all_below(batch.like.kind, options_.prefetch_s / options_.prefetch);
}

int Scheduler::width_for(const Widths& widths) const {
    if (!widths.moldable()) {
        return idle_.count() >= widths.least ? widths.least : 0;
    }
    const auto sharers = static_cast<int>(std::min<std::size_t>(waiting_.count(), 1U << 20U));
    const int fair = (idle_.count() + sharers - 1) / std::max(1, sharers);
    return widths.up_to(std::min(idle_.count(), std::max(fair, widths.least)));
}

bool Scheduler::nothing_can_start() const {
    return idle_.count() == 0 && (room_.empty() || reservation_);
}

std::vector<Start> Scheduler::next(double now_s) {
    std::vector<Start> starts;
    reservation_.reset();
    waiting_.limit_age(age_limit_s());
    if (waiting_.count() == 0 || nothing_can_start()) {
        return starts;
    }
    const Batches order = waiting_.in_order(book_);  // a copy, because plans need it anew
    if (planned_generation_ != waiting_.generation()) {
        plan_.clear();
        planned_generation_ = waiting_.generation();
    }
    for (auto begin = order.begin(); begin != order.end() && !nothing_can_start();) {
        const double priority = (*begin)->like.priority;
        const auto end = std::find_if(begin, order.end(), [&](const Batch* batch) {
            return batch->like.priority != priority;
        });
        const Batches group(begin, end);
        if (begin == order.begin()) {
            replan(group, now_s);
        }
        start_group(group, now_s, starts);
        begin = end;
    }
    ++rounds_since_plan_;
    return starts;
}

Scheduler::Batches Scheduler::overdue(const Batches& group, double now_s) {
    Batches late;
    for (Batch* const batch : group) {
        if (waiting_.clear_front(*batch) && batch->queue.front().due_s <= now_s) {
            late.push_back(batch);
        }
    }
    std::ranges::sort(late, {}, [](const Batch* batch) { return batch->queue.front().since_s; });
    return late;
}

void Scheduler::start_group(const Batches& group, double now_s, std::vector<Start>& starts) {
    for (Batch* const batch : overdue(group, now_s)) {
        while (waiting_.clear_front(*batch) && batch->queue.front().due_s <= now_s &&
               start_first(*batch, now_s, starts)) {
        }
    }
    if (!plan_.empty() && plan_.front()->like.priority == group.front()->like.priority) {
        std::erase_if(plan_, [&](Batch* batch) {
            return !waiting_.clear_front(*batch) ||
                   (idle_.count() > 0 && start_first(*batch, now_s, starts));
        });
    }
    for (Batch* const batch : group) {
        while (!nothing_can_start() && waiting_.clear_front(*batch) &&
               start_first(*batch, now_s, starts)) {
        }
    }
}

bool Scheduler::start_first(Batch& batch, double now_s, std::vector<Start>& starts) {
    const int width = width_for(batch.like.widths);
    if (width == 0) {
        if (!reservation_ && brief(batch) && start_ahead(batch, starts)) {
            return true;
        }
        reserve(batch, now_s);
        return false;
    }
    if (!room_for(batch, width, now_s)) {
        return false;
    }
    auto ranks = idle_.choose(width, batch.like.near, batch.like.avoid);
    if (!ranks) {
        return false;  // a strict wish: it waits for its place
    }
    begin(batch, std::move(*ranks), now_s, starts);
    return true;
}

/// On a rank that has brief tasks, and room for another.
bool Scheduler::start_ahead(Batch& batch, std::vector<Start>& starts) {
    while (!room_.empty()) {
        const int rank = room_.front();
        const auto index = static_cast<std::size_t>(rank);
        room_.pop_front();
        in_room_[index] = false;
        if (brief_tasks_[index] == 0 || idle_.retired(rank)) {
            continue;  // it has become idle, or is lost
        }
        const WaitingTask task = waiting_.take(batch);
        running_[task.task] = {{rank}, batch.like.kind, true, task.cost_s, ends_.end()};
        starts.push_back({task.task, {rank}});
        if (++brief_tasks_[index] < options_.prefetch) {
            room_.push_back(rank);
            in_room_[index] = true;
        }
        return true;
    }
    return false;
}

void Scheduler::begin(Batch& batch, std::vector<int> ranks, double now_s,
                      std::vector<Start>& starts) {
    const WaitingTask task = waiting_.take(batch);
    idle_.take(ranks);
    Running running{ranks, batch.like.kind, brief(batch), task.cost_s, ends_.end()};
    if (running.brief) {
        const auto index = static_cast<std::size_t>(ranks.front());
        brief_tasks_[index] = 1;
        ++brief_ranks_;
        if (!in_room_[index]) {
            room_.push_back(ranks.front());
            in_room_[index] = true;
        }
    } else {
        const auto width = static_cast<int>(ranks.size());
        const double took = book_.estimate_s(batch.like.kind, width, task.cost_s);
        running.end = ends_.emplace(std::isnan(took) ? never_s : now_s + took, width);
    }
    starts.push_back({task.task, std::move(ranks)});
    running_[task.task] = std::move(running);
}

void Scheduler::reserve(const Batch& batch, double now_s) {
    if (reservation_) {
        return;
    }
    const int wanted = batch.like.widths.least;
    int idle = idle_.count() + brief_ranks_;  // those are as good as idle
    double at = now_s;
    for (auto end = ends_.begin(); end != ends_.end() && (idle < wanted || end->first <= at);
         ++end) {
        at = std::max(at, end->first);
        idle += end->second;
    }
    reservation_ = Reservation{at, std::max(0, idle - wanted), batch.like.priority,
                               batch.queue.front().due_s <= now_s};
}

bool Scheduler::room_for(Batch& batch, int width, double now_s) {
    if (!reservation_ ||
        (!reservation_->overdue && batch.like.priority >= reservation_->priority)) {
        return true;
    }
    const double estimate = book_.estimate_s(batch.like.kind, width, batch.queue.front().cost_s);
    if (std::isfinite(reservation_->at_s) && now_s + estimate <= reservation_->at_s) {
        return true;
    }
    if (width > reservation_->left_over) {
        return false;
    }
    reservation_->left_over -= width;
    return true;
}

void Scheduler::replan(const Batches& group, double now_s) {
    const bool changed = planned_edition_ != book_.edition() || planned_added_ != added_;
    if (options_.planning_effort == 0 || !waiting_.any_parallel() || !changed ||
        (!plan_.empty() && rounds_since_plan_ < plan_.size() / rounds_per_plan)) {
        return;
    }
    std::vector<Planned> tasks;
    Batches batches;
    for (Batch* const batch : group) {
        if (!waiting_.clear_front(*batch)) {
            continue;
        }
        if (std::isnan(batch->estimate_s)) {
            plan_.clear();
            return;  // nothing to plan by
        }
        const std::size_t room = planned_tasks_max - tasks.size();
        const std::size_t count = std::min(batch->queue.size(), room);
        tasks.insert(tasks.end(), count, {batch->like.widths.least, batch->estimate_s});
        batches.insert(batches.end(), count, batch);
    }
    std::vector<Busy> busy{{0, brief_ranks_}};
    for (const auto& [end_s, ranks] : ends_) {
        busy.push_back(
            {std::isinf(end_s) ? book_.typical_s() : std::max(0.0, end_s - now_s), ranks});
    }
    plan_.clear();
    const double seconds = std::min(now_s - planned_s_, waiting_.work() / std::max(1, ranks_));
    const auto worth = static_cast<std::uint64_t>(seconds * planning_part / step_s);
    planned_s_ = now_s;
    for (const std::uint32_t task :
         plan_order(tasks, idle_.count(), busy, std::min(worth, options_.planning_effort))) {
        plan_.push_back(batches[task]);
    }
    planned_edition_ = book_.edition();
    planned_added_ = added_;
    rounds_since_plan_ = 0;
}

void Scheduler::finish(TaskId task, double took_s) {
    const auto found = running_.find(task);
    if (found == running_.end()) {
        return;
    }
    const Running& running = found->second;
    if (!std::isnan(took_s)) {
        book_.learn(running.kind, static_cast<int>(running.ranks.size()), running.cost_s, took_s);
    }
    if (!running.brief) {
        for (const int rank : running.ranks) {
            idle_.give_back(rank);
        }
        ends_.erase(running.end);
    } else {
        const int rank = running.ranks.front();
        const auto index = static_cast<std::size_t>(rank);
        if (--brief_tasks_[index] == 0) {
            --brief_ranks_;
            idle_.give_back(rank);
        } else if (!in_room_[index]) {
            room_.push_back(rank);
            in_room_[index] = true;
        }
    }
    running_.erase(found);
}

}  // namespace fluvial::flow
