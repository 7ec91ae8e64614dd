// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/plan.hpp"

namespace fluvial::flow {

namespace {

/// A step of list scheduling takes about this; planning takes a hundredth of all time.
constexpr double step_s = 5e-9;
constexpr double planning_part = 0.01;
/// Steps for each task that a search is to have where it only goes on: some dozens of schedules.
constexpr std::uint64_t search_steps_min = 512;
/// A plan is made anew when something has changed, and an eighth of it has come to pass.
constexpr std::size_t rounds_per_plan = 8;
/// Fewer tasks than this at once would not pay.
constexpr int worth_prefetching = 32;

std::vector<double> amounts_of(const std::map<std::string, double>& resources) {
    std::vector<double> amounts;
    for (const auto& [name, amount] : resources) {
        amounts.push_back(amount);
    }
    return amounts;
}

}  // namespace

Scheduler::Scheduler(const std::vector<int>& hosts, const SchedulerOptions& options)
    : options_(options),
      ranks_(static_cast<int>(hosts.size())),
      idle_(hosts),
      shares_(hosts, amounts_of(options.resources)),
      brief_tasks_(hosts.size()),
      brief_partners_(hosts.size()),
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
    idle_.check_may_meet(request.near, request.widths.least);
    const double estimate = book_.estimate_s(request.kind, request.widths.most, request.cost_s);
    const double length = std::isnan(estimate) ? book_.typical_s() : estimate;
    waiting_.add(request, now_s, length * request.widths.least);
    ++added_;
}

std::vector<TaskId> Scheduler::retire(int rank) {
    idle_.retire(rank);
    shares_.retire(rank);
    --ranks_;
    plan_.clear();
    waiting_.limit_age(age_limit_s());
    return waiting_.take_all([this](const Likeness& like) {
        return like.widths.least > ranks_ || !idle_.may_meet(like.near, like.widths.least);
    });
}

bool Scheduler::brief(const Batch& batch) const {
    const Widths& widths = batch.like.widths;
    return options_.prefetch > 1 && !widths.moldable() && widths.most <= 2 && !batch.like.near &&
           !batch.like.needs.any() && !batch.like.at_once &&
           book_.lately_s(batch.like.kind) * std::min(worth_prefetching, options_.prefetch) <
               options_.prefetch_s;
}

/// Tasks that a team may have of this batch: few while few have shown how long they take, because
/// what a team has been given comes back only once a task before it has lasted.
int Scheduler::depth(const Batch& batch) const {
    const double fitting = options_.prefetch_s / std::max(book_.lately_s(batch.like.kind), 1e-9);
    const double shown = 2 * static_cast<double>(book_.finished(batch.like.kind));
    return static_cast<int>(std::min({static_cast<double>(options_.prefetch), fitting, shown}));
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
    return idle_.count() == 0 && (!room() || reservation_);
}

std::vector<Start> Scheduler::next(double now_s) {
    std::vector<Start> starts;
    reservation_.reset();
    waiting_.limit_age(age_limit_s());
    if (waiting_.count() == 0 || nothing_can_start()) {
        return starts;
    }
    const Batches order = waiting_.in_order(book_, ranks_);  // a copy: plans need it anew
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
        reserve(batch, batch.like.widths.least, now_s);
        return false;
    }
    const Likeness& like = batch.like;
    auto ranks = like.needs.any() ? shares_.choose(idle_, width, like.needs, like.near, like.avoid)
                                  : idle_.choose(width, like.near, like.avoid);
    if (!ranks) {  // a strict wish, or no host has what it needs: it waits for its place
        wait_for_host(batch, now_s);
        return false;
    }
    if (!room_for(batch, static_cast<int>(shares_.kept(*ranks, like.needs).size()), now_s)) {
        return false;
    }
    begin(batch, std::move(*ranks), now_s, starts);
    return true;
}

/// On a team that has brief tasks, and room for another.
bool Scheduler::start_ahead(Batch& batch, std::vector<Start>& starts) {
    const auto width = static_cast<std::size_t>(batch.like.widths.most);
    const int most = depth(batch);
    std::deque<int>& room = room_[width - 1];
    while (!room.empty()) {
        const int first = room.front();
        const auto index = static_cast<std::size_t>(first);
        room.pop_front();
        if (std::exchange(in_room_[index], std::uint8_t{0}) != width) {
            continue;  // what is left of a team of another width
        }
        std::vector<int> ranks{first};
        if (width > 1) {
            ranks.push_back(brief_partners_[index]);
        }
        const auto retired = [this](int rank) { return idle_.retired(rank); };
        if (brief_tasks_[index] == 0 || brief_tasks_[index] >= most ||
            std::ranges::any_of(ranks, retired)) {
            continue;  // it has become idle, has enough, or a rank of it is lost
        }
        const WaitingTask task = waiting_.take(batch);
        running_[task.task] = {.ranks = ranks,
                               .width = static_cast<int>(width),
                               .kind = batch.like.kind,
                               .brief = true,
                               .cost_s = task.cost_s,
                               .time = ends_.end(),
                               .sent_ahead = task};
        starts.push_back({task.task, std::move(ranks)});
        if (++brief_tasks_[index] < most) {
            make_room(first, width);
        }
        return true;
    }
    return false;
}

void Scheduler::make_room(int first, std::size_t width) {
    const auto index = static_cast<std::size_t>(first);
    if (in_room_[index] != width) {
        room_[width - 1].push_back(first);
        in_room_[index] = static_cast<std::uint8_t>(width);
    }
}

void Scheduler::begin(Batch& batch, std::vector<int> ranks, double now_s,
                      std::vector<Start>& starts) {
    const WaitingTask task = waiting_.take(batch);
    const Needs& needs = batch.like.needs;
    const auto width = static_cast<int>(ranks.size());
    Running running{.ranks = shares_.kept(ranks, needs),
                    .width = width,
                    .kind = batch.like.kind,
                    .brief = brief(batch),
                    .cost_s = task.cost_s,
                    .time = ends_.end(),
                    .needs = needs,
                    .sent_ahead = task};
    idle_.take(running.ranks);
    shares_.take(ranks.front(), needs);
    if (running.brief) {
        const auto index = static_cast<std::size_t>(ranks.front());
        brief_tasks_[index] = 1;
        brief_partners_[index] = ranks.back();
        brief_ranks_ += static_cast<int>(ranks.size());
        make_room(ranks.front(), ranks.size());
    } else {
        const double took = book_.estimate_s(batch.like.kind, width, task.cost_s);
        const auto kept = static_cast<int>(running.ranks.size());
        running.has_estimate = !std::isnan(took);
        running.time =
            running.has_estimate ? ends_.emplace(now_s + took, kept) : begins_.emplace(now_s, kept);
    }
    starts.push_back({task.task, std::move(ranks)});
    running_[task.task] = std::move(running);
}

/// The batch of each task of the group, up to planned_tasks_max: first those of the plan that there
/// is, in its order, so that a search goes on where the last one ended.
Scheduler::Batches Scheduler::planned_before(const Batches& group) {
    std::unordered_map<Batch*, std::size_t> left;
    for (Batch* const batch : group) {
        if (waiting_.clear_front(*batch)) {
            left[batch] = batch->queue.size();
        }
    }
    Batches batches;
    const auto add = [&](Batch* batch, std::size_t wanted) {
        const auto found = left.find(batch);
        if (found != left.end()) {
            const std::size_t count =
                std::min({wanted, found->second, planned_tasks_max - batches.size()});
            batches.insert(batches.end(), count, batch);
            found->second -= count;
        }
    };
    for (Batch* const batch : plan_) {
        add(batch, 1);
    }
    for (Batch* const batch : group) {
        add(batch, planned_tasks_max);
    }
    return batches;
}

void Scheduler::replan(const Batches& group, double now_s) {
    // A plan of some would count on ranks that the others take.
    std::size_t count = 0;
    for (const Batch* const batch : group) {
        count += batch->queue.size();
    }
    if (count > planned_tasks_max) {
        plan_.clear();
        return;
    }
    const bool changed = planned_edition_ != book_.edition() || planned_added_ != added_;
    if (options_.planning_effort == 0 || !waiting_.any_parallel() || (!changed && plan_is_best_) ||
        (!plan_.empty() && rounds_since_plan_ < plan_.size() / rounds_per_plan)) {
        return;
    }
    const double seconds = std::min(now_s - planned_s_, waiting_.work() / std::max(1, ranks_));
    const auto worth = static_cast<std::uint64_t>(seconds * planning_part / step_s);
    if (!changed && worth < search_steps_min * std::min(waiting_.count(), planned_tasks_max)) {
        return;
    }
    const Batches batches = planned_before(group);
    std::vector<Planned> tasks;
    for (const Batch* const batch : batches) {
        if (std::isnan(batch->estimate_s)) {
            plan_.clear();
            return;  // nothing to plan by
        }
        tasks.push_back({batch->like.widths.least, batch->estimate_s});
    }
    std::vector<Busy> busy{{0, brief_ranks_}};
    for (const auto& [end_s, ranks] : ends_) {
        busy.push_back({std::max(0.0, end_s - now_s), ranks});
    }
    for (const auto& [begin_s, ranks] : begins_) {
        busy.push_back({book_.typical_s(), ranks});
    }
    plan_.clear();
    planned_s_ = now_s;
    const Plan plan =
        plan_order(tasks, idle_.count(), busy, std::min(worth, options_.planning_effort));
    for (const std::uint32_t task : plan.order) {
        plan_.push_back(batches[task]);
    }
    plan_is_best_ = plan.cannot_be_better;
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
        book_.learn(running.kind, running.width, running.cost_s, took_s);
    }
    if (!running.brief) {
        for (const int rank : running.ranks) {
            idle_.give_back(rank);
        }
        (running.has_estimate ? ends_ : begins_).erase(running.time);
        shares_.give_back(running.ranks.front(), running.needs);
    } else {
        const std::vector<int>& team = running.ranks;
        const auto index = static_cast<std::size_t>(team.front());
        if (--brief_tasks_[index] > 0) {
            make_room(team.front(), team.size());
        } else {
            brief_ranks_ -= static_cast<int>(team.size());
            for (const int rank : team) {
                idle_.give_back(rank);
            }
        }
    }
    running_.erase(found);
}

void Scheduler::take_back(const Request& request) {
    const Running& running = running_.at(request.task);
    const WaitingTask waited = running.sent_ahead;
    const auto first = static_cast<std::size_t>(running.ranks.front());
    finish(request.task, unknown_s);
    in_room_[first] = 0;
    waiting_.put_back(request, waited);
}

}  // namespace fluvial::flow
