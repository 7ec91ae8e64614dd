// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/server.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial::flow {

namespace {

constexpr std::size_t orders_bytes_max = 64 * 1024;
/// Messages taken in one turn: new tasks come in between.
constexpr int messages_per_turn = 64;

std::vector<int> hosts_of_workers(const Members& members, int workers, int first) {
    std::vector<int> hosts;
    for (int worker = 0; worker < workers; ++worker) {
        hosts.push_back(members.host_of(worker + first));
    }
    return hosts;
}

}  // namespace

Server::Server(const mpi::Comm& comm, const Functions& functions, Members& members, int workers,
               const SchedulerOptions& options, double stuck_after_s,
               std::function<bool(const FuturePtr&)> told)
    : functions_(functions),
      members_(members),
      workers_(workers),
      first_(comm.size() - workers),
      alone_(comm.size() == 1),
      stuck_after_s_(stuck_after_s),
      told_(std::move(told)),
      mailbox_(comm),
      scheduler_(hosts_of_workers(members, workers_, first_), options),
      teams_(workers_),
      orders_(static_cast<std::size_t>(comm.size())) {}

void Server::submit(FuturePtr future, std::uint32_t function, std::vector<Input> inputs,
                    const TaskOptions& options) {
    const std::lock_guard lock(mutex_);
    submitted_.push_back({std::move(future), function, std::move(inputs), options});
}

bool Server::turn() {
    bool moved = take_submissions();
    moved = take_reports() || moved;
    moved = look_at_limits() || moved;
    if (std::exchange(changed_, false) && !stopping_) {
        for (const Start& one : scheduler_.next(now_s())) {
            start(one);
        }
    }
    flush();
    return moved;
}

bool Server::take_submissions() {
    std::vector<Submission> taken;
    std::vector<Following> following;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(submitted_);
        following.swap(following_);
    }
    for (Submission& submission : taken) {
        accept(std::move(submission));
    }
    for (const Following& one : following) {
        accept(one);
    }
    return !taken.empty() || !following.empty();
}

void Server::accept(Submission submission) {
    Task task;
    task.future = std::move(submission.future);
    task.function = submission.function;
    task.inputs = std::move(submission.inputs);
    task.options = std::move(submission.options);
    const auto number = static_cast<std::uint32_t>(kinds_.size());
    task.kind = kinds_.emplace(kind_of(task), number).first->second;
    const TaskId id = task.future->task;
    Task& kept = tasks_.emplace(id, std::move(task)).first->second;
    for (const Input& input : kept.inputs) {
        const auto* const other = std::get_if<FuturePtr>(&input);
        if (other == nullptr || ((*other)->done() && !(*other)->failure)) {
            continue;
        }
        if ((*other)->done()) {
            fail(kept, *(*other)->failure);
            tasks_.erase(id);
            return;
        }
        (*other)->dependents.push_back(id);
        ++kept.inputs_missing;
    }
    if (kept.inputs_missing == 0) {
        schedule(kept);
    }
}

const std::string& Server::kind_of(const Task& task) const {
    return task.options.kind.empty() ? functions_.at(task.function).name : task.options.kind;
}

void Server::schedule(Task& task) {
    const TaskId id = task.future->task;
    Request request{id,
                    task.options.ranks,
                    task.options.priority,
                    task.options.cost_s,
                    task.kind,
                    task.options.near,
                    task.avoid};
    if (request.near) {
        request.near->rank = worker_of(request.near->rank);
    }
    try {
        scheduler_.add(request, now_s());
        task.in_scheduler = true;
        changed_ = true;
    } catch (const Error& error) {
        settle(task, nullptr, TaskFailure{error.kind(), error.what(), -1, {}});
        tasks_.erase(id);
    }
}

void Server::start(const Start& start) {
    Task& task = tasks_.at(start.task);
    TeamNumber team = 0;
    if (start.ranks.size() > 1) {
        prepare_team(start.ranks, team);
    }
    std::vector<std::span<const std::byte>> inputs;
    for (const Input& input : task.inputs) {
        const auto* const other = std::get_if<FuturePtr>(&input);
        inputs.emplace_back(other != nullptr ? *(*other)->result
                                             : *std::get<std::shared_ptr<const Bytes>>(input));
    }
    task.in_scheduler = false;
    task.team.clear();
    for (const int worker : start.ranks) {
        const int rank = rank_of(worker);
        task.team.push_back(rank);
        ByteWriter& orders = orders_for(rank);
        if (orders.size() == 0) {
            to_flush_.push_back(rank);
        }
        Order::write_run(orders, start.task, task.function, team, inputs);
        if (orders.size() > orders_bytes_max) {
            flush();
        }
    }
    task.began_ns = now_ns();
    if (!std::isinf(task.options.timeout_s)) {
        limited_.insert(start.task);
    }
    task.future->phase.store(Phase::Running, std::memory_order_release);
}

/// Its ranks have its communicator by the time they come to what is sent next.
void Server::prepare_team(const std::vector<int>& workers, TeamNumber& team) {
    const auto tell = [&](int worker) -> ByteWriter& {
        const int rank = rank_of(worker);
        ByteWriter& orders = orders_for(rank);
        if (orders.size() == 0) {
            to_flush_.push_back(rank);
        }
        return orders;
    };
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
            mailbox_.post(rank, tag_orders, orders.take());
        }
        orders.clear();
    }
    to_flush_.clear();
    mailbox_.sent();
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
    bool taken = false;
    for (int count = 0; count < messages_per_turn; ++count) {
        auto message = mailbox_.poll(tag_reports);
        if (!message) {
            break;
        }
        taken = true;
        for (ByteReader in(message->bytes); !in.done();) {
            handle(message->from, Report::read(in));
        }
    }
    return taken;
}

void Server::handle(int from, Report report) {
    if (report.word == Word::Bye) {
        byes_ += lost_.contains(from) ? 0 : 1;
        return;
    }
    const auto found = tasks_.find(report.task);
    if (found == tasks_.end() ||
        std::ranges::find(found->second.team, from) == found->second.team.end()) {
        return;  // of a rank that had been given up
    }
    if (report.word == Word::Failed) {
        fail(found->second, *report.failure);
    } else {
        finish(found, from, std::move(report));
    }
}

void Server::finish(Tasks::iterator task, int from, Report report) {
    if (timeline_) {
        timeline_->add(kind_of(task->second), from, task->second.team, report.began_ns,
                       report.took_s);
    }
    if (report.failure) {
        fail(task->second, *report.failure);
    } else if (!task->second.over && report.continues) {
        go_on(task->second, std::move(report.result));
    } else if (!task->second.over) {
        settle(task->second, std::make_shared<const Bytes>(std::move(report.result)), {});
    }
    release(task, report.failure ? unknown_s : report.took_s);
}

/// The ranks have come back.
void Server::release(Tasks::iterator task, double took_s) {
    scheduler_.finish(task->first, took_s);
    limited_.erase(task->first);
    changed_ = true;
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
    again.team.clear();
    schedule(again);
}

/// It has failed on its ranks, which may not have come back.
void Server::fail(Task& task, const TaskFailure& failure) {
    if (task.over) {
        return;
    }
    if (!task.team.empty()) {
        task.over_ns = now_ns();
        limited_.insert(task.future->task);
    }
    if (task.tries < task.options.retries && !task.team.empty()) {
        ++task.tries;
        task.over = true;
        task.again = true;
        task.avoid =
            failure.rank >= first_ ? worker_of(failure.rank) : worker_of(task.team.front());
        task.future->phase.store(Phase::Waiting, std::memory_order_release);
        return;
    }
    settle(task, nullptr, failure);
}

void Server::settle(Task& task, std::shared_ptr<const Bytes> result,
                    const std::optional<TaskFailure>& failure, bool cancelled) {
    task.over = true;
    task.again = false;
    const FuturePtr future = task.future;
    future->result = std::move(result);
    future->failure = failure;
    future->cancelled = cancelled;
    future->phase.store(Phase::Done, std::memory_order_release);
    told_(future);
    settled_.push_back(future);
    if (settled_.size() == 1) {  // or else an outer call goes on with it
        for (; !settled_.empty(); settled_.pop_front()) {
            tell_dependents(*settled_.front());
        }
    }
}

/// Of what is settled.
void Server::tell_dependents(FutureState& future) {
    for (const TaskId id : std::exchange(future.dependents, {})) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end() || found->second.over) {
            continue;
        }
        if (future.failure || found->second.continues) {
            settle_like(found->second, future);
            tasks_.erase(id);
        } else if (--found->second.inputs_missing == 0) {
            schedule(found->second);
        }
    }
}

bool Server::cancel(const FuturePtr& future) {
    take_submissions();
    const auto found = tasks_.find(future->task);
    if (found == tasks_.end() || !found->second.team.empty() || found->second.over ||
        found->second.continues) {
        return future->done() && future->cancelled;
    }
    if (found->second.in_scheduler) {
        scheduler_.remove(future->task);
    }
    settle(found->second, nullptr,
           TaskFailure{"Error", "the task was cancelled before it began", -1, {}}, true);
    tasks_.erase(future->task);
    return true;
}

void Server::cancel_all() {
    take_submissions();
    std::vector<FuturePtr> waiting;
    for (const auto& [id, task] : tasks_) {
        if (task.team.empty()) {
            waiting.push_back(task.future);
        }
    }
    for (const FuturePtr& future : waiting) {
        cancel(future);
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
    for (int worker = 0; worker < workers_ && !alone_; ++worker) {
        const int rank = rank_of(worker);
        ByteWriter order;
        Order::write_stop(order, !lost_.empty());
        mailbox_.post(rank, tag_orders, order.take());  // to those that are lost, too
    }
}

void Server::give_up(const TaskFailure& why) {
    take_submissions();
    while (!tasks_.empty()) {
        const auto first = tasks_.begin();
        if (!first->second.over || first->second.again) {
            settle(first->second, nullptr, why);
        }
        tasks_.erase(first->first);
    }
    limited_.clear();
}

}  // namespace fluvial::flow
