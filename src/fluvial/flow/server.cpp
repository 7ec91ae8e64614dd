// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/server.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/gang.hpp"

namespace fluvial::flow {

namespace {

constexpr std::size_t orders_bytes_max = 64 * 1024;
/// Messages taken in one turn: new tasks come in between.
constexpr int messages_per_turn = 64;

std::vector<int> hosts_of_workers(const Members& members, const Roles& roles) {
    std::vector<int> hosts;
    std::ranges::transform(roles.workers(), std::back_inserter(hosts),
                           [&](int rank) { return members.host_of(rank); });
    return hosts;
}

}  // namespace

Server::Server(const mpi::Comm& comm, const Functions& functions, Members& members,
               const Roles& roles, const SchedulerOptions& options, const Limits& limits,
               std::function<bool(const FuturePtr&)> told)
    : functions_(functions),
      members_(members),
      roles_(roles),
      alone_(comm.size() == 1),
      limits_(limits),
      told_(std::move(told)),
      messages_(comm, roles),
      resources_(options.resources),
      scheduler_(hosts_of_workers(members, roles), options),
      teams_(static_cast<int>(roles.workers().size())),
      orders_(static_cast<std::size_t>(comm.size())) {
    widest_host_ = scheduler_.widest_host();
}

void Server::submit(Submission submission) {
    const std::lock_guard lock(mutex_);
    submitted_.push_back(std::move(submission));
}

bool Server::turn() {
    bool moved = take_submissions();
    moved = take_reports() || moved;
    moved = look_at_limits() || moved;
    moved = take_fetched() || moved;
    if (std::exchange(changed_, false) && !stopping_) {
        for (const Start& one : scheduler_.next(now_s())) {
            start(one);
        }
    }
    stop_relays();
    flush();
    return moved;
}

void Server::start(const Start& start) {
    if (fail_without_inputs(start)) {
        return;
    }
    Task& task = tasks_.at(start.task);
    if (task.gang) {
        start_together(*task.gang, start);
    } else {
        start_on(task, start.ranks);
    }
}

void Server::start_on(Task& task, const std::vector<int>& workers) {
    const TaskId id = task.future->task;
    TeamNumber team = 0;
    if (workers.size() > 1) {
        prepare_team(workers, team);
    }
    task.in_scheduler = false;
    task.team.clear();
    std::ranges::transform(workers, std::back_inserter(task.team),
                           [this](int worker) { return rank_of(worker); });
    task.sent = ++sent_;
    std::vector<Order::View> inputs = inputs_for(task, task.team);
    const Keeps keeps = task.options->keep_parts ? Keeps::Parts
                        : task.options->keep     ? Keeps::Result
                                                 : Keeps::Nothing;
    for (std::size_t number = 0; number < task.team.size(); ++number) {
        ByteWriter& orders = orders_to(task.team[number]);
        put_own_parts(task, number, inputs);
        Order::write_run(orders, id, task.function, team, keeps, task.options->fresh, inputs);
        if (orders.size() > orders_bytes_max) {
            flush();
        }
    }
    task.began_ns = now_ns();
    if (!std::isinf(task.options->timeout_s)) {
        limited_.insert(id);
    }
    task.future->place = task.team.front();
    task.future->phase.store(Phase::Running, std::memory_order_release);
}

/// The team's ranks have its communicator before they come to the orders that are sent next.
void Server::prepare_team(const std::vector<int>& workers, TeamNumber& team) {
    const auto tell = [&](int worker) -> ByteWriter& { return orders_to(rank_of(worker)); };
    const TeamCache::Use use = teams_.use(workers);
    team = use.team;
    for (const TeamCache::Gone& gone : use.gone) {
        for (const int worker : gone.ranks) {
            Order::write_free(tell(worker), gone.team);
        }
    }
    if (use.is_new) {
        std::vector<int> ranks;
        std::ranges::transform(workers, std::back_inserter(ranks),
                               [this](int worker) { return rank_of(worker); });
        for (const int worker : workers) {
            Order::write_make(tell(worker), use.team, ranks);
        }
    }
}

void Server::flush() {
    for (const int rank : to_flush_) {
        ByteWriter& orders = orders_for(rank);
        if (orders.size() == 0) {
            continue;
        }
        if (alone_) {
            const Bytes bytes = orders.take();
            for (ByteReader in(bytes); !in.done();) {
                own_orders_.push_back(Order::read(in));
            }
        } else if (!lost_.contains(rank)) {
            messages_.post_orders(rank, orders.take());
        }
        orders.clear();
    }
    to_flush_.clear();
    messages_.flush();
}

std::optional<Order> Server::own_order() {
    if (own_orders_.empty()) {
        return std::nullopt;
    }
    Order order = std::move(own_orders_.front());
    own_orders_.pop_front();
    return order;
}

bool Server::take_reports() {
    return messages_.take_reports(messages_per_turn,
                                  [this](int from, std::span<const std::byte> reports) {
                                      for (ByteReader in(reports); !in.done();) {
                                          handle(from, Report::read(in));
                                      }
                                  });
}

void Server::handle(int from, Report report) {
    if (report.word == Word::Bye) {
        byes_.insert(from);
        messages_.expect_no_more(from);
        return;
    }
    if (report.word == Word::Lost || report.word == Word::Died) {
        lose(*report.failure,
             report.word == Word::Died ? std::optional(report.task) : std::nullopt);
        return;
    }
    const auto found = tasks_.find(report.task);
    if (found == tasks_.end() || lost_.contains(from) ||
        std::ranges::find(found->second.team, from) == found->second.team.end()) {
        return;  // of a rank that had been given up
    }
    if (report.word == Word::Back) {
        come_back(found, from);
    } else if (report.word == Word::Unbegun) {
        take_back(found);
    } else if (report.word == Word::Failed) {
        fail_running(found->second, *report.failure);
    } else {
        finish(found, from, std::move(report));
    }
}

void Server::finish(Tasks::iterator task, int from, Report report) {
    if (timeline_) {
        timeline_->add(kind_of(task->second), from, task->second.team, report.began_ns,
                       report.took_s);
    }
    const double timeout_s = task->second.options->timeout_s;
    const bool late =
        report.took_s > timeout_s && !report.continues;  // nobody could look meanwhile
    if (report.failure || late) {
        fail(task->second, report.failure ? *report.failure : outlived(task->second));
    }
    if (task->second.options->keep_parts && !report.kept) {
        drop_parts(task->second);
    }
    if (report.kept) {
        keep(task->second, from);
    } else if (!task->second.over && report.continues) {
        go_on(task->second, std::move(report.result));
    } else if (!task->second.over) {
        settle(task->second, shared_bytes(std::move(report.result)));
    }
    release(task, report.failure ? unknown_s : report.took_s);
}

/// The ranks have come back.
void Server::release(Tasks::iterator task, double took_s) {
    limited_.erase(task->first);
    changed_ = true;
    if (!task->second.gang) {
        scheduler_.finish(task->first, took_s);
    } else if (all_are_back(task->second, took_s)) {
        scheduler_.finish(task->second.gang->scheduled, took_s);
    }
    if (task->second.continues && !task->second.over) {
        task->second.team.clear();
        return;
    }
    if (!task->second.again) {
        tasks_.erase(task);
        return;
    }
    Task& again = task->second;
    again.again = false;
    again.over = false;
    again.over_ns = 0;
    again.team.clear();
    schedule(again);
}

/// The task has failed on its ranks, which may not have come back.
void Server::fail(Task& task, const TaskFailure& failure) {
    const bool first = task.over_ns == 0;
    if (first && !task.team.empty()) {
        task.over_ns = now_ns();
        limited_.insert(task.future->task);
    }
    if (task.over) {
        return;
    }
    if (task.tries < task.options->retries && !task.team.empty()) {
        ++task.tries;
        task.over = true;
        task.again = true;
        task.avoid = worker_of(roles_.runs_tasks(failure.rank) ? failure.rank : task.team.front());
        task.future->phase.store(Phase::Waiting, std::memory_order_release);
        return;
    }
    settle(task, failure);
}

void Server::settle(Task& task, std::shared_ptr<const Bytes> result,
                    std::shared_ptr<const TaskFailure> failure, bool cancelled) {
    task.over = true;
    task.again = false;
    const FuturePtr future = task.future;
    const bool breaks_up = failure && task.gang && task.team.empty();
    future->result = std::move(result);
    future->failure = std::move(failure);
    future->cancelled = cancelled;
    future->phase.store(Phase::Done, std::memory_order_release);
    told_(future);
    if (breaks_up) {
        break_up(task);
    }
    const bool outermost = settled_.empty();  // or else an outer call goes on with it
    settled_.push_back(future);
    settle_parts(*future);
    if (outermost) {
        for (; !settled_.empty(); settled_.pop_front()) {
            tell_dependents(*settled_.front());
        }
    }
}

/// `future` is settled.
void Server::tell_dependents(FutureState& future) {
    if (!future.ties) {
        return;
    }
    for (const TaskId id : std::exchange(future.ties->dependents, {})) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end() || found->second.over) {
            continue;
        }
        const auto is_future = [&](const Input& input) {
            const FuturePtr* const other = future_of(input);
            return other != nullptr && other->get() == &future;
        };
        const bool input_failed =
            future.failure && std::ranges::any_of(found->second.inputs, is_future);
        if (input_failed || found->second.continues) {
            settle_like(found->second, future);
            tasks_.erase(id);
        } else if (--found->second.inputs_missing == 0) {
            schedule(found->second);
        }
    }
}

bool Server::at_rest() {
    const std::lock_guard lock(mutex_);
    return submitted_.empty() && tasks_.empty();
}

void Server::stop() {
    if (std::exchange(stopping_, true)) {
        return;
    }
    flush();
    for (const int rank : roles_.workers()) {
        if (!alone_ && !lost_.contains(roles_.server_of(rank))) {
            ByteWriter order;
            Order::write_stop(order, !lost_.empty());
            messages_.post_orders(rank, order.take());  // to those that are lost, too
        }
    }
    messages_.flush();
}

bool Server::workers_are_out() const {
    return std::ranges::all_of(roles_.workers(), [this](int rank) {
        return byes_.contains(rank) || lost_.contains(rank);
    });
}

bool Server::goodbye() const {
    return alone_ || (workers_are_out() && std::ranges::all_of(roles_.relays(), [this](int rank) {
                          return byes_.contains(rank) || lost_.contains(rank);
                      }));
}

/// What the ranks that run tasks have reported has gone through the relays by then.
void Server::stop_relays() {
    if (stopping_ && !alone_ && !relays_stopping_ && workers_are_out()) {
        tell_relays_to_stop();
    }
}

void Server::tell_relays_to_stop() {
    relays_stopping_ = true;
    for (const int relay : roles_.relays()) {
        if (!lost_.contains(relay)) {
            ByteWriter order;
            Order::write_stop(order, !lost_.empty());
            messages_.post_straight(relay, order.take());
        }
    }
}

}  // namespace fluvial::flow
