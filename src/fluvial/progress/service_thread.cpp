// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/service_thread.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <pthread.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/threads.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::progress {

namespace {

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

}  // namespace

ServiceThread& ServiceThread::of_process() {
    static auto* const thread =
        new ServiceThread("fluvial flusher", true);  // outlives static objects
    return *thread;
}

ServiceThread& ServiceThread::without_mpi() {
    static auto* const thread = new ServiceThread("fluvial beats", false);
    return *thread;
}

bool ServiceThread::may_start() const {
    return !calls_mpi_ || mpi::thread_level() == mpi::ThreadLevel::Multiple;
}

void ServiceThread::add(Customer& customer) {
    const std::lock_guard lock(mutex_);
    if (retired_) {
        return;
    }
    if (!known_to_mpi_) {
        mpi::before_finalize([this] { retire(); });
    }
    known_to_mpi_ = true;
    if (!thread_.joinable() && may_start()) {
        start();
    }
    rounds_.push_back({&customer, never_ns});
}

void ServiceThread::start() {
    stop_ = std::make_shared<bool>(false);
    thread_ = without_signals([this, stop = stop_] { run(*stop); });
    pthread_setname_np(thread_.native_handle(), name_);
}

void ServiceThread::remove(Customer& customer) {
    std::unique_lock lock(mutex_);
    std::erase_if(rounds_, [&](const Round& round) { return round.customer == &customer; });
    if (rounds_.empty() && calls_mpi_) {
        stop(std::move(lock));
    }
}

void ServiceThread::retire() {
    std::unique_lock lock(mutex_);
    retired_ = true;
    rounds_.clear();
    stop(std::move(lock));
}

void ServiceThread::stop(std::unique_lock<std::mutex> lock) {
    if (!thread_.joinable()) {
        return;
    }
    *stop_ = true;
    std::thread ended = std::move(thread_);
    lock.unlock();
    called_.notify_all();
    ended.join();
}

void ServiceThread::call(Customer& customer, std::int64_t ns) {
    const std::int64_t due_ns = now_ns() + ns;
    bool sooner = false;
    {
        const std::lock_guard lock(mutex_);
        for (Round& round : rounds_) {
            if (round.customer != &customer || due_ns >= round.due_ns) {
                continue;
            }
            sooner = true;
            round.due_ns = due_ns;
        }
        if (!thread_.joinable()) {
            due_ns_ = std::min(due_ns_.load(), due_ns);
        }
    }
    if (sooner) {
        called_.notify_all();
    }
}

void ServiceThread::run(const bool& stop) {
    std::unique_lock lock(mutex_);
    while (!stop) {
        const std::int64_t next_ns = visit_due();
        if (next_ns == never_ns) {
            called_.wait(lock);
        } else {
            called_.wait_for(lock, std::chrono::nanoseconds(next_ns - now_ns()));
        }
    }
}

void ServiceThread::serve_due() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && !thread_.joinable()) {
        due_ns_ = visit_due();
    }
}

/// Returns when the next visit is due.
std::int64_t ServiceThread::visit_due() {
    std::int64_t next_ns = never_ns;
    for (Round& round : rounds_) {
        const std::int64_t now = now_ns();
        if (round.due_ns <= now) {
            const auto again = round.customer->visit(*this);
            round.due_ns = again ? now + *again : never_ns;
        }
        next_ns = std::min(next_ns, round.due_ns);
    }
    return next_ns;
}

}  // namespace fluvial::progress
