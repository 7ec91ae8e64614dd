// SPDX-License-Identifier: Apache-2.0
// Results that stay on the ranks that made them; kept.hpp has the events.
#include <algorithm>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/gang.hpp"
#include "fluvial/flow/server.hpp"

namespace fluvial::flow {

namespace {

std::shared_ptr<const TaskFailure> gone_with(const TaskFailure& lost) {
    return std::make_shared<const TaskFailure>(
        TaskFailure{lost.kind,
                    describe_problem({"the result of a task stayed on a rank that is lost",
                                      text("rank ", lost.rank, ": ", lost.message), "",
                                      "Without keep results go to the lead at once"}),
                    lost.rank,
                    {}});
}

const std::shared_ptr<Kept>* kept_of(const Input& input) {
    const auto* const future = std::get_if<FuturePtr>(&input);
    const bool is_kept = future != nullptr && (*future)->ties && (*future)->ties->kept;
    return is_kept ? &(*future)->ties->kept : nullptr;
}

}  // namespace

void Server::fetch(std::shared_ptr<Kept> kept) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(kept));
}

/// What the task's future refers to from now on; a task that is over needs it no more.
void Server::keep(Task& task, int rank) {
    const auto kept = std::make_shared<Kept>(rank, task.future->task, droppings_);
    if (!task.over) {
        task.future->make_ties().kept = kept;
        settle(task, nullptr);
    }
}

void Server::have_given(const std::shared_ptr<Kept>& kept) {
    const auto lost = lost_.find(kept->rank);
    if (kept->fetched || std::ranges::find(fetching_, kept) != fetching_.end()) {
        return;
    }
    if (lost != lost_.end()) {
        kept->settle(nullptr, gone_with(lost->second));
        return;
    }
    Order::write_give(orders_to(kept->rank), kept->task, 0, tag_fetched);
    fetching_.push_back(kept);
}

bool Server::take_fetched() {
    for (const Droppings::One& one : droppings_->take()) {
        if (!lost_.contains(one.rank) && !stopping_) {
            Order::write_drop(orders_to(one.rank), one.task);
        }
    }
    if (fetching_.empty()) {
        return false;
    }
    const auto message = messages_.poll_fetched();
    if (!message) {
        return false;
    }
    const TaskId task = KeptMessage::task(message->bytes);
    const auto found = std::ranges::find(fetching_, task, &Kept::task);
    if (found != fetching_.end()) {
        const auto result = KeptMessage::result(message->bytes);
        (*found)->settle(shared_bytes({result.begin(), result.end()}), nullptr);
        fetching_.erase(found);
    }
    return true;
}

void Server::fail_fetches(const TaskFailure& lost) {
    std::erase_if(fetching_, [&](const std::shared_ptr<Kept>& kept) {
        const bool hit = lost.rank < 0 || kept->rank == lost.rank;
        if (hit) {
            kept->settle(nullptr, gone_with(lost));
        }
        return hit;
    });
}

/// Fails what is to start and has no inputs any more: a rank that keeps one is lost.
bool Server::fail_without_inputs(const Start& start) {
    const std::shared_ptr<Gang> gang = tasks_.at(start.task).gang;
    for (const TaskId id : gang ? gang->members : std::vector{start.task}) {
        const auto found = tasks_.find(id);
        if (const auto why = input_lost(found->second)) {
            tasks_.at(start.task).in_scheduler = false;
            settle(found->second, nullptr, why);
            tasks_.erase(id);
            scheduler_.finish(start.task, unknown_s);
            changed_ = true;
            return true;
        }
    }
    return false;
}

std::shared_ptr<const TaskFailure> Server::input_lost(const Task& task) const {
    for (const Input& input : task.inputs) {
        const auto* const kept = kept_of(input);
        const auto lost = kept != nullptr ? lost_.find((*kept)->rank) : lost_.end();
        if (lost != lost_.end()) {
            return gone_with(lost->second);
        }
    }
    return nullptr;
}

/// The inputs as they go to the ranks of the task's team; ranks that keep inputs are told to give
/// them to ranks of the team that lack them.
std::vector<Order::View> Server::inputs_for(const Task& task, const std::vector<int>& ranks) {
    std::vector<Order::View> inputs;
    std::set<TaskId> given;
    for (const Input& input : task.inputs) {
        if (const auto* const kept = kept_of(input)) {
            inputs.push_back({{}, (*kept)->rank, (*kept)->task});
            const bool once = given.insert((*kept)->task).second;
            for (const int rank : ranks) {
                if (once && rank != (*kept)->rank) {
                    Order::write_give(orders_to((*kept)->rank), (*kept)->task, rank, tag_inputs);
                }
            }
            continue;
        }
        const auto* const future = std::get_if<FuturePtr>(&input);
        inputs.push_back({future != nullptr ? *(*future)->result
                                            : *std::get<std::shared_ptr<const Bytes>>(input)});
    }
    return inputs;
}

/// The rank that keeps an input of the task, if there is one that lives.
int Server::keeper_of_input(const Task& task) const {
    for (const Input& input : task.inputs) {
        const auto* const kept = kept_of(input);
        if (kept != nullptr && !lost_.contains((*kept)->rank)) {
            return (*kept)->rank;
        }
    }
    return -1;
}

}  // namespace fluvial::flow
