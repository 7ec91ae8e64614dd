// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/waiting_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace fluvial::flow {

namespace {

constexpr std::size_t empty_batches_max = 64;
constexpr double long_part = 0.25;

int cost_step(double cost_s) {
    if (std::isnan(cost_s)) {
        return std::numeric_limits<int>::min();
    }
    constexpr double shortest_s = 1e-9;
    constexpr double steps_per_factor_e = 20;
    return static_cast<int>(
        std::floor(std::log(std::max(cost_s, shortest_s)) * steps_per_factor_e));
}

}  // namespace

Batch& WaitingTasks::batch_of(const Request& request) {
    const Likeness like{request.priority, request.widths, request.kind,  cost_step(request.cost_s),
                        request.near,     request.avoid,  request.needs, request.at_once};
    if (last_ == nullptr || last_->like != like) {
        last_ = &batches_[like];
        last_->like = like;
    }
    if (last_->queue.empty()) {
        ordered_ = false;  // the ordered batches are those that were not empty then
    }
    return *last_;
}

void WaitingTasks::count(const Batch& batch, double work) {
    ++count_;
    parallel_ += batch.serial() ? 0 : 1;
    work_ += work;
}

void WaitingTasks::add(const Request& request, double now_s, double work) {
    Batch& batch = batch_of(request);
    batch.queue.push_back(
        {.task = request.task, .since_s = now_s, .cost_s = request.cost_s, .work = work});
    new_.push_back(&batch.queue.back());
    count(batch, work);
}

void WaitingTasks::put_back(const Request& request, const WaitingTask& task) {
    Batch& batch = batch_of(request);
    batch.queue.push_front(task);
    count(batch, task.work);
}

void WaitingTasks::limit_age(double age_limit_s) {
    for (WaitingTask* const task : new_) {
        task->due_s = task->since_s + age_limit_s;
    }
    new_.clear();
}

void WaitingTasks::remove(TaskId task) {
    removed_.insert(task);
    --count_;
}

WaitingTask WaitingTasks::take(Batch& batch) {
    const WaitingTask task = batch.queue.front();
    batch.queue.pop_front();
    --count_;
    parallel_ -= batch.serial() ? 0 : 1;
    work_ = count_ == 0 ? 0 : work_ - task.work;
    return task;
}

bool WaitingTasks::clear_front(Batch& batch) {
    while (!removed_.empty() && !batch.queue.empty() &&
           removed_.erase(batch.queue.front().task) > 0) {
        ++count_;  // remove() has taken it off already
        take(batch);
    }
    return !batch.queue.empty();
}

void WaitingTasks::refresh(const CostBook& book, int ranks) {
    std::size_t empty = 0;
    for (const auto& [like, batch] : batches_) {
        empty += batch.queue.empty() ? 1 : 0;
    }
    if (empty > empty_batches_max) {
        std::erase_if(batches_, [](const auto& entry) { return entry.second.queue.empty(); });
        last_ = nullptr;
        ++generation_;
    }
    order_.clear();
    for (auto& [like, batch] : batches_) {
        if (!batch.queue.empty()) {
            batch.estimate_s =
                book.estimate_s(like.kind, like.widths.most, batch.queue.front().cost_s);
            order_.push_back(&batch);
        }
    }
    ordered_by_width_ = count_ > planned_tasks_max;
    ordered_work_ = work_;
    const double long_s = work_ / ranks * long_part;
    const auto key = [&](const Batch* batch) {
        const double length = std::isnan(batch->estimate_s) ? book.typical_s() : batch->estimate_s;
        const int width = batch->like.widths.most;
        const int width_first = ordered_by_width_ && length < long_s ? width : ranks + 1;
        return std::tuple(-batch->like.priority, -width_first, -length, -width,
                          batch->queue.front().task);
    };
    std::ranges::sort(order_, {}, key);
    ordered_ = true;
    edition_ = book.edition();
}

bool WaitingTasks::in_order_still(const CostBook& book) const {
    const bool as_much = work_ <= 2 * ordered_work_ && 2 * work_ >= ordered_work_;
    return ordered_ && edition_ == book.edition() &&
           ordered_by_width_ == (count_ > planned_tasks_max) && (!ordered_by_width_ || as_much);
}

const std::vector<Batch*>& WaitingTasks::in_order(const CostBook& book, int ranks) {
    if (!in_order_still(book)) {
        refresh(book, std::max(1, ranks));
    }
    return order_;
}

std::vector<TaskId> WaitingTasks::take_all(const std::function<bool(const Likeness&)>& of) {
    std::vector<TaskId> taken;
    for (auto& [like, batch] : batches_) {
        while (of(like) && clear_front(batch)) {
            taken.push_back(take(batch).task);
        }
    }
    return taken;
}

}  // namespace fluvial::flow
