// SPDX-License-Identifier: Apache-2.0
// What a rank does for others while it runs a task that lasts.
#include "fluvial/flow/worker_attending.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "fluvial/base/clock.hpp"

namespace fluvial::flow {

namespace {

/// A task that has run for as long as this, or for twice as long, lasts. Many times longer than a
/// task takes that others are sent behind.
constexpr std::int64_t look_every_ns = 3'000'000;
/// Once there is nothing to do, a task of hours is looked at less often.
constexpr std::int64_t look_at_least_every_ns = 50'000'000;
/// Then the thread sleeps until the next task.
constexpr int quiet_looks_max = 16;
/// A task that was cancelled has so long to ask, before it gets signals.
constexpr std::int64_t time_to_ask_ns = 500'000'000;

constexpr bool is_odd(std::uint64_t number) {
    return number % 2 == 1;
}

}  // namespace

Worker::Attendant::Attendant(Worker& worker) : worker_(worker) {
    progress::ServiceThread::of_process().add(*this);
}

Worker::Attendant::~Attendant() {
    progress::ServiceThread::of_process().remove(*this);
}

void Worker::Attendant::look_soon() {
    progress::ServiceThread::of_process().call(*this, look_every_ns);
}

std::optional<std::int64_t> Worker::Attendant::visit(const progress::ServiceThread&) {
    return worker_.attend();
}

/// What the task can do only once this rank has said that it begins.
void Worker::begin_task(const Order& order) {
    running_ = order.task;
    alone_ = order.team == 0;
    signalled_.store(false, std::memory_order_relaxed);
    members_.note_begun(order.task);
    // In one order with what attend() does before it sleeps.
    runs_.store(runs_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    if (!attended_.load(std::memory_order_seq_cst)) {
        attended_ = true;
        attendant_->look_soon();
    }
}

void Worker::end_task() {
    const std::lock_guard lock(mutex_);
    runs_.store(runs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    running_ = 0;
    if (attend_error_) {
        std::rethrow_exception(std::exchange(attend_error_, nullptr));
    }
}

/// In the thread that attends, or in the task's own. Returns after how many nanoseconds it is to be
/// called again, if before begin_task() calls.
std::optional<std::int64_t> Worker::attend() {
    const std::uint64_t runs = runs_.load(std::memory_order_acquire);
    if (runs != std::exchange(seen_runs_, runs)) {
        quiet_looks_ = 0;
        look_again_ns_ = look_every_ns;
        return look_every_ns;
    }
    if (is_odd(runs)) {
        std::unique_lock lock(mutex_, std::try_to_lock);
        if (lock && runs_.load(std::memory_order_relaxed) == runs) {
            attend_to_task();
        }
        if (lock) {
            lock.unlock();  // the task may look whether it was cancelled
        }
        if (signalled_) {
            ::pthread_kill(thread_, cancel_signal_);
        }
        if (look_again_ns_ == look_every_ns) {
            return look_every_ns;
        }
    } else if (++quiet_looks_ < quiet_looks_max) {
        return look_every_ns;
    }
    attended_.store(false, std::memory_order_seq_cst);
    if (runs_.load(std::memory_order_seq_cst) != runs) {  // and may have seen that it is attended
        attended_ = true;
        return look_every_ns;
    }
    return is_odd(runs) ? std::optional(look_again_ns_) : std::nullopt;
}

void Worker::attend_to_task() {
    if (attend_error_) {
        return;
    }
    try {
        take_orders();
        if (!gathering_.empty()) {
            take_notes();
        }
        give_back_orders();
        flush();
        if (cancel_signal_ != 0 && alone_ && cancelled_.contains(running_)) {
            signal_if_deaf();
        }
        const bool busy = !gathering_.empty() || !messages_.sent();
        look_again_ns_ =
            busy ? look_every_ns : std::min(2 * look_again_ns_, look_at_least_every_ns);
    } catch (...) {
        attend_error_ = std::current_exception();
    }
}

/// A function that asks is to learn of it by that, and ends as it likes.
void Worker::signal_if_deaf() {
    const std::int64_t now = now_ns();
    if (std::exchange(cancelled_task_, running_) != running_) {
        cancelled_since_ns_ = now;
        was_signalled_ = false;
    } else if (!was_signalled_ && cancel_heard_by_ != running_ &&
               now - cancelled_since_ns_ >= time_to_ask_ns) {
        was_signalled_ = true;
        signalled_ = true;
    }
}

/// Tasks of this rank alone that were sent ahead: last ones first, so that they wait in their order
/// again. Those of teams stay, since another rank may have begun them.
void Worker::give_back_orders() {
    for (std::size_t number = orders_.size(); number > 0; --number) {
        const auto order = orders_.begin() + static_cast<std::ptrdiff_t>(number - 1);
        const bool has_inputs_elsewhere = std::ranges::any_of(
            order->inputs, [](const Order::Input& input) { return input.keeper >= 0; });
        if (order->word != Word::Run || order->team != 0 || has_inputs_elsewhere) {
            continue;
        }
        put(server_, tag_reports, {.word = Word::Unbegun, .task = order->task, .result = {}});
        cancelled_.erase(order->task);
        orders_.erase(order);
    }
}

}  // namespace fluvial::flow
