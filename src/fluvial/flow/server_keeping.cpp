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

const std::shared_ptr<Kept>* kept_of(const FuturePtr& future) {
    return future->ties && future->ties->kept ? &future->ties->kept : nullptr;
}

/// Of one's own part it is the first of all.
const std::shared_ptr<Kept>* kept_of(const Input& input) {
    const FuturePtr* const future = future_of(input);
    return future != nullptr ? kept_of(*future) : nullptr;
}

}  // namespace

void Server::fetch(std::shared_ptr<Kept> kept) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(kept));
}

/// What the task's future refers to from now on; a task that is over needs it no more.
void Server::keep(Task& task, int rank) {
    const TaskId id = task.future->task;
    const std::span<const FuturePtr> parts = task.future->parts();
    if (task.over && !parts.empty()) {
        drop_parts(task);
        return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i]->make_ties().kept =
            std::make_shared<Kept>(task.team[i], part_of(id, i), droppings_);
    }
    const auto kept =
        parts.empty() ? std::make_shared<Kept>(rank, id, droppings_) : parts.front()->ties->kept;
    if (!task.over) {
        task.future->make_ties().kept = kept;
        settle(task, nullptr);
    }
}

/// It has no result of which they would be parts.
void Server::drop_parts(const Task& task) {
    for (std::size_t i = 0; i < task.team.size() && !alone_; ++i) {
        droppings_->add({task.team[i], part_of(task.future->task, i)});
    }
}

/// As the task's own future, which has just been settled.
void Server::settle_parts(const FutureState& future) {
    for (std::size_t i = 0; i < future.parts().size(); ++i) {
        const FuturePtr& part = future.parts()[i];
        part->failure = future.failure;
        part->cancelled = future.cancelled;
        if (alone_) {
            part->result = future.result;
        } else if (!future.failure && kept_of(part) == nullptr) {
            part->failure = std::make_shared<const TaskFailure>(TaskFailure{
                "Error", "a task that has returned further tasks has no parts", -1, {}});
        }
        part->place = kept_of(part) != nullptr ? (*kept_of(part))->rank : future.place;
        part->phase.store(Phase::Done, std::memory_order_release);
        settled_.push_back(part);
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
    std::shared_ptr<const TaskFailure> why;
    const auto look_at = [&](const std::shared_ptr<Kept>* kept) {
        const auto lost = kept != nullptr ? lost_.find((*kept)->rank) : lost_.end();
        if (lost != lost_.end()) {
            why = gone_with(lost->second);
        }
    };
    for (const Input& input : task.inputs) {
        look_at(kept_of(input));
        if (const auto* const own = std::get_if<OwnPart>(&input)) {
            for (const FuturePtr& part : own->of->parts()) {
                look_at(kept_of(part));
            }
        }
    }
    return why;
}

/// The inputs as they go to the ranks of the task's team; ranks that keep inputs are told to give
/// them to ranks of the team that lack them.
std::vector<Order::View> Server::inputs_for(const Task& task, const std::vector<int>& ranks) {
    std::vector<Order::View> inputs;
    std::set<std::pair<TaskId, int>> given;
    const auto give = [&](const Kept& kept, int rank) {
        if (rank != kept.rank && given.insert({kept.task, rank}).second) {
            Order::write_give(orders_to(kept.rank), kept.task, rank, tag_inputs);
        }
    };
    for (const Input& input : task.inputs) {
        const auto* const own = std::get_if<OwnPart>(&input);
        if (own != nullptr && !alone_) {
            inputs.push_back({});  // put_own_parts() has the rest
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                give(**kept_of(own->of->parts()[i]), ranks[i]);
            }
            continue;
        }
        if (const auto* const kept = kept_of(input)) {
            inputs.push_back({{}, (*kept)->rank, (*kept)->task});
            for (const int rank : ranks) {
                give(**kept, rank);
            }
            continue;
        }
        const FuturePtr* const future = future_of(input);
        inputs.push_back({future != nullptr ? *(*future)->result
                                            : *std::get<std::shared_ptr<const Bytes>>(input)});
    }
    return inputs;
}

/// For the rank of that number in the task's team.
void Server::put_own_parts(const Task& task, std::size_t number, std::vector<Order::View>& inputs) {
    for (std::size_t i = 0; i < inputs.size() && !alone_; ++i) {
        if (const auto* const own = std::get_if<OwnPart>(&task.inputs[i])) {
            const Kept& kept = **kept_of(own->of->parts()[number]);
            inputs[i] = {{}, kept.rank, kept.task};
        }
    }
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
