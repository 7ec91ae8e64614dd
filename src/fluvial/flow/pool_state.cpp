// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/pool_state.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
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
        terms.add("servers", text(options.servers));
        terms.add("trace", text(options.trace));
        terms.add("audits", text(options.audits));
        for (const auto& [name, amount] : options.scheduler.resources) {
            terms.add("resources", text(name, " ", amount));
        }
    };
    mpi::agree_on(comm, check, say);
    return comm;
}

Roles roles_of(const mpi::Comm& comm, const Members& members, const PoolOptions& options) {
    std::vector<int> hosts;
    for (int rank = 0; rank < comm.size(); ++rank) {
        hosts.push_back(members.host_of(rank));
    }
    return {hosts, options.lead_works, options.servers};
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

}  // namespace

PoolState::PoolState(mpi::Comm own, Functions wanted, const PoolOptions& wishes)
    : comm(agreed(std::move(own), wanted, wishes)),
      functions(std::move(wanted)),
      options(wishes),
      members(comm, options.stall_timeout_s),
      roles(roles_of(comm, members, options)),
      crew(comm, functions, options.audits) {
    const int rank = comm.rank();
    members.watch_from_afar(comm, [this](int other) {
        return roles.runs_tasks(other) && roles.server_of(other) == lead_rank;
    });
    if (roles.is_relay(rank)) {
        relay = std::make_unique<Relay>(comm, members, roles.served_by(rank),
                                        std::min(1.0, options.stall_timeout_s / 4));
    } else if (comm.size() > 1 && roles.runs_tasks(rank)) {
        worker = std::make_unique<Worker>(comm, crew, members, roles.server_of(rank),
                                          options.cancel_signal);
    }
    std::vector<std::int64_t> clock_offsets_ns;
    if (options.trace) {
        clock_offsets_ns = comm.allgather_values(mpi::clock_offset(comm, now_ns));
    }
    if (rank != lead_rank) {
        served.end();  // its tasks have nothing to serve but streams and scans
        return;
    }
    server =
        std::make_unique<Server>(comm, functions, members, roles, options.scheduler,
                                 Server::Limits{options.stuck_after_s, options.stall_timeout_s},
                                 [this](const FuturePtr& future) {
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

void PoolState::serve() {
    if (relay) {
        relay->serve();
    } else {
        worker->serve();
    }
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
        const auto cancelled = [this, task = own->task] {
            const std::lock_guard lock(mutex);
            return server->own_is_cancelled(task);
        };
        Report report{.word = Word::Done, .task = own->task, .result = {}};
        if (cancelled()) {
            report.failure = cancelled_before_it_began();
        } else {
            report = crew.run(*own, cancelled);
        }
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
    const bool whole = server  ? server->goodbye() && server->lost().empty()
                       : relay ? !relay->any_lost()
                               : !worker->any_lost();
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
    if (relay) {
        relay->abandon();
    }
    crew.abandon();
    comm.abandon();
}

}  // namespace fluvial::flow
