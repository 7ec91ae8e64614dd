// SPDX-License-Identifier: Apache-2.0
// Ranks that are held for a task that does not fit yet, and what may run on them before it.
#include <algorithm>
#include <cmath>

#include "fluvial/flow/scheduler.hpp"

namespace fluvial::flow {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();

}  // namespace

/// Once it is overdue, nothing else starts that would not end before all ranks are idle.
void Scheduler::wait_for_host(const Batch& batch, double now_s) {
    if (batch.like.needs.any() && batch.queue.front().due_s <= now_s) {
        reserve(batch, ranks_, now_s);
    }
}

/// A task without an estimate is expected to run for as long again as it has run, and for no less
/// than a typical one: such tasks become fewer while the reservation lasts, so that nothing that
/// fits in before them keeps the ranks from becoming idle for ever.
void Scheduler::reserve(const Batch& batch, int wanted, double now_s) {
    if (reservation_) {
        return;
    }
    int idle = idle_.count() + brief_ranks_;  // ranks with brief tasks count as idle
    double at = now_s;
    const auto likely_end_s = [&](double begin_s) {
        return now_s + std::max(now_s - begin_s, book_.typical_s());
    };
    auto known = ends_.begin();
    for (auto unknown = begins_.rbegin(); known != ends_.end() || unknown != begins_.rend();) {
        const double end_s = unknown == begins_.rend() ? never_s : likely_end_s(unknown->first);
        const bool is_known = known != ends_.end() && known->first <= end_s;
        const double next_s = is_known ? known->first : end_s;
        if (idle >= wanted && next_s > at) {
            break;
        }
        at = std::max(at, next_s);
        idle += is_known ? (known++)->second : (unknown++)->second;
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
    if (now_s + estimate <= reservation_->at_s) {
        return true;
    }
    if (width > reservation_->left_over) {
        return false;
    }
    reservation_->left_over -= width;
    return true;
}

}  // namespace fluvial::flow
