// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/pool.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_state.hpp"

namespace fluvial::flow {

namespace {

/// The result of a task that is done; null when the time is over.
std::shared_ptr<const Bytes> result_of(PoolState& pool, const FutureState& future,
                                       double timeout_s) {
    if (future.failure) {
        future.failure->raise();
    }
    if (!future.ties || !future.ties->kept) {
        return future.result;
    }
    const std::shared_ptr<Kept>& kept = future.ties->kept;
    if (!kept->fetched) {
        pool.check_process();
        const Deadline deadline(timeout_s);
        pool.server->fetch(kept);
        pool.wait([&] { return kept->fetched || pool.closed || deadline.passed(); });
    }
    if (!kept->fetched && pool.closed) {
        throw Error(Problem{"the pool was closed before a result was fetched",
                            text("it stayed on rank ", kept->rank), "",
                            "Ask for it before the pool is closed"});
    }
    if (!kept->fetched) {
        return nullptr;
    }
    if (kept->failure) {
        kept->failure->raise();
    }
    return kept->bytes;
}

}  // namespace

Pool::Pool(mpi::Comm comm, Functions functions, const PoolOptions& options)
    : state_(std::make_shared<PoolState>(std::move(comm), std::move(functions), options)) {
    state_->start_own_worker(state_.shared());
}

Pool::~Pool() {
    if (!state_ || state_->closed || state_->made.inherited()) {
        return;  // a forked process has not the lead's thread, which keeps the state
    }
    try {
        if (state_->server) {
            const std::lock_guard lock(state_->mutex);
            state_->server->break_off({"Error", "the pool was not closed", -1, {}});
        }
        if (state_->end_own_worker()) {
            state_->abandon();
        }
    } catch (...) {  // NOLINT(bugprone-empty-catch): an exception is on its way already
    }
    state_->closed = true;
}

Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&& other) noexcept {
    if (this != &other) {
        const Pool old = std::move(*this);  // the others are told when it was not closed
        state_ = std::move(other.state_);
    }
    return *this;
}

bool Pool::leads() const {
    return state_->server != nullptr;
}

int Pool::rank() const {
    return state_->members.own_rank();
}

int Pool::size() const {
    return state_->members.size();
}

int Pool::workers() const {
    return state_->workers();
}

void Pool::check_process() const {
    state_->check_process();
}

const std::vector<int>& Pool::worker_ranks() const {
    return state_->roles.workers();
}

Future Pool::known(Bytes result) {
    auto future = std::make_shared<FutureState>();
    future->task = ++state_->last_task;
    future->result = shared_bytes(std::move(result));
    future->phase.store(Phase::Done, std::memory_order_release);
    return {std::move(future), state_.shared()};
}

Future Pool::failed(TaskFailure failure) {
    auto future = std::make_shared<FutureState>();
    future->task = ++state_->last_task;
    future->failure = std::make_shared<const TaskFailure>(std::move(failure));
    future->phase.store(Phase::Done, std::memory_order_release);
    return {std::move(future), state_.shared()};
}

void Pool::follow(const FuturePtr& future, const FuturePtr& other) {
    state_->server->follow(future, other);
}

std::vector<FuturePtr> Pool::wait_for_some(double timeout_s) {
    check_process();
    {
        // From now on this thread serves the pool while it waits elsewhere, and the lead's does
        // not, which has its streams to serve: to take turns from this one would help nobody.
        const progress::Served::Inside inside(state_->served);
    }
    const Deadline deadline(timeout_s);
    std::vector<FuturePtr> taken;
    state_->wait([&] {
        const std::lock_guard lock(state_->told_mutex);
        taken.swap(state_->told);
        return !taken.empty() || state_->woken.exchange(false) || deadline.passed();
    });
    return taken;
}

void Pool::wake() {
    state_->woken = true;
}

bool Pool::cancel(const FuturePtr& future, bool running) {
    check_process();
    const std::lock_guard lock(state_->mutex);
    return state_->server && future && !state_->turning && !state_->closed &&
           state_->server->cancel(future, running);
}

Timeline Pool::timeline() const {
    if (!leads() || !state_->options.trace) {
        throw InvalidArgument(Problem{"there is no timeline",
                                      leads() ? "a pool without trace" : text("rank ", rank()),
                                      "rank 0 of a pool with trace=true", ""});
    }
    check_process();
    const std::lock_guard lock(state_->mutex);
    return *state_->server->timeline();
}

void Pool::close() {
    if (state_->closed || state_->made.inherited()) {
        return;
    }
    if (!leads()) {
        state_->serve();
        state_->end();
        return;
    }
    state_->wait([&] { return state_->server->at_rest(); });
    state_->stop();
    state_->end();
    if (!state_->server->lost().empty()) {
        state_->server->lost().begin()->second.raise();
    }
    if (!state_->server->goodbye()) {
        throw PeerLost(Problem{"a rank of the pool did not stop",
                               text("no word for ", state_->options.stuck_after_s, " s"), "", ""});
    }
}

void Pool::cancel_and_close() {
    if (leads() && !state_->closed && !state_->made.inherited()) {
        const std::lock_guard lock(state_->mutex);
        state_->server->cancel_all();
    }
    close();
}

const FutureState& Future::held() const {
    if (!state_) {
        throw InvalidArgument(Problem{"this future is of no task", "an empty object",
                                      "what submit() returned",
                                      "Submit a task first; a future that was moved is empty"});
    }
    return *state_;
}

const Bytes& Future::get() const {
    if (!done()) {
        pool_->check_process();
        pool_->wait([this] { return done() || pool_->closed; });
    }
    if (!done()) {
        throw Error("the pool was closed before the task was done");
    }
    constexpr double forever_s = std::numeric_limits<double>::infinity();
    return *result_of(*pool_, *state_, forever_s);  // which the future keeps
}

std::vector<Future> Future::parts() const {
    std::vector<Future> found;
    for (const FuturePtr& part : held().parts()) {
        found.push_back(Future(part, pool_));
    }
    return found;
}

std::shared_ptr<const Bytes> Pool::result(const FuturePtr& future, double timeout_s) {
    return result_of(*state_, *future, timeout_s);
}

bool Future::cancel(bool running) const {
    static_cast<void>(held());
    pool_->check_process();
    const std::lock_guard lock(pool_->mutex);
    return pool_->server && !pool_->turning && !pool_->closed &&
           pool_->server->cancel(state_, running);
}

}  // namespace fluvial::flow
