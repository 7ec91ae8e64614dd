// SPDX-License-Identifier: Apache-2.0
// What a server does about ranks and tasks that do not come back.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

namespace {

constexpr std::int64_t look_at_limits_every_ns = 20'000'000;

double seconds_since(std::int64_t ns) {
    return static_cast<double>(now_ns() - ns) * 1e-9;
}

TaskFailure silent_for(double limit_s, int relay) {
    return {
        "PeerStalled",
        describe_problem({"a server of the pool says nothing", text("no word for ", limit_s, " s"),
                          text("up to stall_timeout=", limit_s, " s"),
                          "A larger stall_timeout of the pool waits longer"}),
        relay,
        {}};
}

}  // namespace

/// Its ranks had nothing else to do before it, and have nothing behind it (Request::at_once).
bool Server::is_late(const Task& task) const {
    return seconds_since(task.began_ns) > task.options->timeout_s;
}

TaskFailure Server::outlived(const Task& task) const {
    return {
        "TimedOut",
        describe_problem({text("the task '", kind_of(task), "' outlived its time limit"), "",
                          text("up to ", task.options->timeout_s, " s"),
                          text("Give it a larger timeout; its ranks are used again when they come "
                               "back, for which they have stuck_after=",
                               limits_.stuck_after_s, " s")}),
        -1,
        {}};
}

TaskFailure Server::stuck(const Task& task, int rank) const {
    const double ran_s = static_cast<double>(task.over_ns - task.began_ns) * 1e-9;
    const bool late = ran_s > task.options->timeout_s;
    return {"PeerLost",
            describe_problem({text("a rank does not come back from the task '", kind_of(task),
                                   late ? "', which outlived its limit" : "', which has failed"),
                              text("none for ", limits_.stuck_after_s, " s"),
                              text("up to stuck_after=", limits_.stuck_after_s, " s"),
                              text(late ? "It may still compute"
                                        : "It may wait for the rank that failed, in the task's "
                                          "communicator",
                                   "; a larger stuck_after of the pool waits longer")}),
            rank,
            {}};
}

bool Server::look_at_limits() {
    if (now_ns() - looked_ns_ < look_at_limits_every_ns) {
        return false;
    }
    const double passed_s = seconds_since(std::exchange(looked_ns_, now_ns()));
    bool moved = false;
    while (const auto silent = members_.look()) {
        lose(*silent, members_.last_begun(silent->rank));
        moved = true;
    }
    while (const auto relay = messages_.silent(passed_s, limits_.stall_timeout_s)) {
        lose(silent_for(limits_.stall_timeout_s, *relay), std::nullopt);
        moved = true;
    }
    std::map<int, TaskFailure> lost;
    for (const TaskId id : std::exchange(limited_, {})) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end()) {
            continue;
        }
        Task& task = found->second;
        limited_.insert(id);
        if (!task.over && is_late(task)) {
            fail_running(task, outlived(task));
            moved = true;
        } else if (task.over && seconds_since(task.over_ns) > limits_.stuck_after_s) {
            for (const int rank : task.team) {
                lost.insert_or_assign(rank, stuck(task, rank));
            }
            limited_.erase(id);
        }
    }
    for (const auto& [rank, why] : lost) {
        lose(why, std::nullopt);
        moved = true;
    }
    return moved;
}

void Server::lose(const TaskFailure& lost, std::optional<TaskId> begun) {
    if (!lost_.emplace(lost.rank, lost).second) {
        return;
    }
    if (!first_lost_) {
        first_lost_ = lost;
    }
    messages_.give_up_on(lost.rank);
    if (roles_.runs_tasks(lost.rank)) {
        lose_worker(lost, begun);
    } else {
        lose_relay(lost);
    }
    changed_ = true;
}

/// Nobody knows what the ranks that it served have got and reported: they end.
void Server::lose_relay(const TaskFailure& lost) {
    for (const int rank : roles_.served_by(lost.rank)) {
        ByteWriter orders;
        Order::write_lost(orders, lost.rank);
        Order::write_stop(orders, true);
        messages_.post_straight(rank, orders.take());
        lose({lost.kind,
              describe_problem({text("rank ", rank, " has lost its server"),
                                text("rank ", lost.rank, ": ", lost.message), "", ""}),
              rank,
              {}},
             std::nullopt);
    }
}

/// It gets no tasks any more, and the results that it had are lost, as are tasks that it may have
/// begun.
void Server::lose_worker(const TaskFailure& lost, std::optional<TaskId> begun) {
    std::vector<TaskId> hit;
    for (const auto& [id, task] : tasks_) {
        if (std::ranges::find(task.team, lost.rank) != task.team.end()) {
            hit.push_back(id);
        }
    }
    const std::vector<TaskId> too_wide = scheduler_.retire(worker_of(lost.rank));
    if (begun) {
        schedule_elsewhere(hit, *begun);
    }
    for (const TaskId id : hit) {
        const auto found = tasks_.find(id);
        fail_running(found->second, lost);
        lose_rank_of(found, lost.rank);
    }
    ByteWriter order;
    Order::write_lost(order, lost.rank);
    const Bytes said = order.take();
    for (const int rank : roles_.workers()) {
        if (!lost_.contains(rank) && !alone_) {
            messages_.post_orders(rank, said);
        }
    }
    if (const int relay = roles_.server_of(lost.rank); relay != lead_rank) {
        messages_.post_straight(relay, said);
    }
    fail_fetches(lost);
    fail_too_wide(too_wide);
}

/// Takes those out of `hit` that a rank was sent, for itself alone, behind the task that it had
/// begun last.
void Server::schedule_elsewhere(std::vector<TaskId>& hit, TaskId begun) {
    const bool open = std::ranges::find(hit, begun) != hit.end();
    const std::uint64_t sent = open ? tasks_.at(begun).sent : 0;
    std::erase_if(hit, [&](TaskId id) {
        const auto task = tasks_.find(id);
        const auto& near = task->second.options->near;
        const bool unbegun = task->second.team.size() == 1 && !task->second.gang &&
                             !(near && near->strict) && task->second.sent > sent;
        if (unbegun && unstart(task)) {
            scheduler_.finish(id, unknown_s);
            schedule(task->second);
        }
        return unbegun;
    });
}

/// The task has failed. Its first rank would have told of the others.
void Server::lose_rank_of(Tasks::iterator task, int rank) {
    if (rank == task->second.team.front()) {
        ask_who_comes_back(task->second);
    }
    come_back(task, rank);
}

/// All ranks are asked that are not lost: what they answer has been preceded by the task's end.
void Server::ask_who_comes_back(const Task& task) {
    const TaskId id = task.future->task;
    std::set<int>& awaited = awaited_[id];
    for (const int rank : task.team) {
        if (!lost_.contains(rank)) {
            awaited.insert(rank);
            Order::write_back(orders_to(rank), id);
        }
    }
}

/// Or never will. Of tasks whose first rank lives, this one waits for the others.
void Server::come_back(Tasks::iterator task, int rank) {
    const auto awaited = awaited_.find(task->first);
    if (awaited == awaited_.end()) {
        return;
    }
    awaited->second.erase(rank);
    if (!awaited->second.empty()) {
        return;
    }
    awaited_.erase(awaited);
    if (task->second.options->keep_parts) {
        drop_parts(task->second);
    }
    release(task, unknown_s);
}

void Server::fail_too_wide(const std::vector<TaskId>& tasks) {
    for (const TaskId id : tasks) {
        const auto found = tasks_.find(id);
        const int wanted = least_width(found->second);
        found->second.in_scheduler = false;
        if (wanted <= scheduler_.ranks()) {
            settle(
                found->second,
                TaskFailure{first_lost_->kind,
                            describe_problem({"a task is to run strictly where a rank is lost", "",
                                              "", "Leave strict out, and it runs elsewhere"}),
                            -1,
                            {}});
            tasks_.erase(id);
            continue;
        }
        settle(found->second, too_wide(wanted));
        tasks_.erase(id);
    }
}

TaskFailure Server::too_wide(int wanted) const {
    return {first_lost_->kind,
            describe_problem({text("a task wants ", wanted, " ranks, and the pool has lost some"),
                              text(scheduler_.ranks(), " ranks are left; rank ", first_lost_->rank,
                                   ": ", first_lost_->message),
                              "", ""}),
            -1,
            {}};
}

bool Server::has_become_too_wide(const Task& task) const {
    return first_lost_ && least_width(task) > scheduler_.ranks();
}

}  // namespace fluvial::flow
