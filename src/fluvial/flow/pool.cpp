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
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/clock_offset.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::flow {

namespace {

/// The same on all ranks, or an error on all.
mpi::Comm agreed(mpi::Comm comm, const Functions& functions, const PoolOptions& options) {
    const auto check = [&] {
        if (!(options.stall_timeout_s >= progress::stall_timeout_min_s)) {
            throw InvalidArgument(Problem{"stall_timeout_s is out of range",
                                          text(options.stall_timeout_s),
                                          text(progress::stall_timeout_min_s, " seconds or more"),
                                          "Infinity lets stopped ranks be"});
        }
        if (!(options.stuck_after_s > 0)) {
            throw InvalidArgument(Problem{"stuck_after_s is out of range",
                                          text(options.stuck_after_s), "more than 0 seconds", ""});
        }
        for (const auto& [name, amount] : options.scheduler.resources) {
            if (!(amount >= 0)) {
                throw InvalidArgument(
                    Problem{text("the amount of the resource '", name, "' is out of range"),
                            text(amount), "0 or more", ""});
            }
        }
        if (options.lead_works && comm.size() > 1 &&
            mpi::thread_level() != mpi::ThreadLevel::Multiple) {
            throw InvalidArgument(Problem{"a lead that works has two threads that call MPI",
                                          "a lower thread level", "MPI_THREAD_MULTIPLE", ""});
        }
    };
    const auto say = [&](Terms& terms) {
        for (std::uint32_t number = 0; number < functions.size(); ++number) {
            terms.add("the functions of a pool", functions.at(number).name);
        }
        terms.add("stall_timeout_s", text(options.stall_timeout_s));
        terms.add("lead_works", text(options.lead_works));
        terms.add("trace", text(options.trace));
        for (const auto& [name, amount] : options.scheduler.resources) {
            terms.add("resources", text(name, " ", amount));
        }
    };
    mpi::agree_on(comm, check, say);
    return comm;
}

/// True for as long as it exists.
class Flag {
  public:
    explicit Flag(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
    ~Flag() { flag_ = false; }
    Flag(const Flag&) = delete;
    Flag& operator=(const Flag&) = delete;

  private:
    std::atomic<bool>& flag_;
};

class TurnsUntil final : public progress::Waiting {
  public:
    TurnsUntil(PoolState& pool, const std::function<bool()>& done) : pool_(pool), done_(done) {}
    Seen look() override {
        const bool moved = pool_.turn();
        return done_() ? Seen::End : moved ? Seen::Movement : Seen::Nothing;
    }

  private:
    PoolState& pool_;
    const std::function<bool()>& done_;
};

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

PoolState::PoolState(mpi::Comm own, Functions wanted, const PoolOptions& wishes)
    : comm(agreed(std::move(own), wanted, wishes)),
      functions(std::move(wanted)),
      options(wishes),
      members(comm, options.stall_timeout_s),
      crew(comm, functions) {
    if (comm.rank() != 0 || (options.lead_works && comm.size() > 1)) {
        worker = std::make_unique<Worker>(comm, crew, members, 0);
    }
    std::vector<std::int64_t> clock_offsets_ns;
    if (options.trace) {
        clock_offsets_ns = comm.allgather_values(mpi::clock_offset(comm, now_ns));
    }
    if (comm.rank() != 0) {
        return;
    }
    server = std::make_unique<Server>(comm, functions, members, workers(), options.scheduler,
                                      options.stuck_after_s, [this](const FuturePtr& future) {
                                          const std::lock_guard lock(told_mutex);
                                          if (options.collects_done) {
                                              told.push_back(future);
                                          }
                                          return options.collects_done;
                                      });
    if (options.trace) {
        server->keep_timeline(std::move(clock_offsets_ns));
    }
}

int PoolState::workers() const {
    return options.lead_works ? comm.size() : std::max(1, comm.size() - 1);
}

void PoolState::start_own_worker(const std::shared_ptr<PoolState>& self) {
    if (!server || !worker) {
        return;
    }
    own_worker = std::thread([self] {
        try {
            self->worker->serve();
        } catch (...) {
            self->own_error = std::current_exception();
            self->own_failed = true;
        }
        self->own_ended = true;
    });
}

/// False when it does not come back: then it may still use everything.
bool PoolState::end_own_worker() {
    if (!own_worker.joinable()) {
        return true;
    }
    const Deadline deadline(server->lost().contains(0) ? 0 : options.stuck_after_s);
    wait([&] { return own_ended || deadline.passed(); });
    if (!own_ended) {
        own_worker.detach();
        return false;
    }
    own_worker.join();
    return true;
}

bool PoolState::turn() {
    std::optional<Order> own;
    bool moved = false;
    {
        const std::unique_lock lock(mutex, std::try_to_lock);
        if (!lock || turning || closed) {
            return false;
        }
        if (own_failed) {
            std::rethrow_exception(own_error);
        }
        const Flag flag(turning);
        moved = server->turn();
        if (!running_own) {
            own = server->own_order();
        }
    }
    if (own) {
        const Flag flag(running_own);
        Report report = crew.run(*own);
        const std::lock_guard lock(mutex);
        server->take_own(std::move(report));
    }
    return moved || own;
}

void PoolState::wait(const std::function<bool()>& done) {
    TurnsUntil waiting(*this, done);
    progress::BackOff back_off(members.ranks_per_core());
    progress::wait(waiting, back_off, &served);
}

void PoolState::stop() {
    {
        const std::lock_guard lock(mutex);
        server->stop();
    }
    const Deadline deadline(options.stuck_after_s);
    wait([&] { return server->goodbye() || deadline.passed(); });
}

void PoolState::end() {
    const bool whole = server ? server->goodbye() && server->lost().empty() : !worker->any_lost();
    const bool alone = end_own_worker();
    const std::lock_guard lock(mutex);
    closed = true;
    if (whole && alone) {
        crew.close();
        comm.close();
        return;
    }
    if (alone) {
        abandon();
    }
}

void PoolState::abandon() noexcept {
    if (server) {
        server->abandon();
    }
    if (worker) {
        worker->abandon();
    }
    crew.abandon();
    comm.abandon();
}

Pool::Pool(mpi::Comm comm, Functions functions, const PoolOptions& options)
    : state_(std::make_shared<PoolState>(std::move(comm), std::move(functions), options)) {
    state_->start_own_worker(state_);
}

Pool::~Pool() {
    if (!state_ || state_->closed || state_->made.inherited()) {
        return;  // a forked process has not the lead's thread, which keeps the state
    }
    try {
        if (state_->server) {
            const std::lock_guard lock(state_->mutex);
            state_->server->give_up({"Error", "the pool was not closed", -1, {}});
            state_->server->stop();
        }
        if (state_->end_own_worker()) {
            state_->abandon();
        }
    } catch (...) {  // NOLINT(bugprone-empty-catch): an exception is on its way already
    }
    state_->closed = true;
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

Future Pool::known(Bytes result) {
    auto future = std::make_shared<FutureState>();
    future->task = ++state_->last_task;
    future->result = shared_bytes(std::move(result));
    future->phase.store(Phase::Done, std::memory_order_release);
    return {std::move(future), state_};
}

Future Pool::failed(TaskFailure failure) {
    auto future = std::make_shared<FutureState>();
    future->task = ++state_->last_task;
    future->failure = std::make_shared<const TaskFailure>(std::move(failure));
    future->phase.store(Phase::Done, std::memory_order_release);
    return {std::move(future), state_};
}

void Pool::follow(const FuturePtr& future, const FuturePtr& other) {
    state_->server->follow(future, other);
}

std::vector<FuturePtr> Pool::wait_for_some(double timeout_s) {
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

bool Pool::cancel(const FuturePtr& future) {
    const std::lock_guard lock(state_->mutex);
    return !state_->turning && !state_->closed && state_->server->cancel(future);
}

Timeline Pool::timeline() const {
    if (!leads() || !state_->options.trace) {
        throw InvalidArgument(Problem{"there is no timeline",
                                      leads() ? "a pool without trace" : text("rank ", rank()),
                                      "rank 0 of a pool with trace=true", ""});
    }
    const std::lock_guard lock(state_->mutex);
    return *state_->server->timeline();
}

void Pool::close() {
    if (state_->closed) {
        return;
    }
    if (!leads()) {
        state_->worker->serve();
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
    if (leads() && !state_->closed) {
        const std::lock_guard lock(state_->mutex);
        state_->server->cancel_all();
    }
    close();
}

const Bytes& Future::get() const {
    if (!done()) {
        pool_->wait([this] { return done() || pool_->closed; });
    }
    if (!done()) {
        throw Error("the pool was closed before the task was done");
    }
    constexpr double forever_s = std::numeric_limits<double>::infinity();
    return *result_of(*pool_, *state_, forever_s);  // which the future keeps
}

std::shared_ptr<const Bytes> Pool::result(const FuturePtr& future, double timeout_s) {
    return result_of(*state_, *future, timeout_s);
}

bool Future::cancel() const {
    const std::lock_guard lock(pool_->mutex);
    return !pool_->turning && !pool_->closed && pool_->server->cancel(state_);
}

}  // namespace fluvial::flow
