// SPDX-License-Identifier: Apache-2.0
// What a program may ask of a pool, checked before anything runs.
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/pool_state.hpp"

namespace fluvial::flow {

namespace {

void check_width(const Widths& widths, Runs runs, const std::string& name, int workers) {
    if (widths.least < 1 || widths.least > workers || widths.most < widths.least) {
        throw InvalidArgument(
            Problem{text("no team can be as wide as a task of '", name, "' wants"),
                    widths.moldable() ? text(widths.least, " to ", widths.most, " ranks")
                                      : text(widths.least, " ranks"),
                    text("1 to ", workers, " ranks of this pool that serve"),
                    "Ask for fewer ranks, or start a larger pool"});
    }
    if (runs == Runs::Serial && widths.most > 1) {
        throw InvalidArgument(Problem{text("'", name, "' is a serial function"),
                                      text(widths.most, " ranks"), "1 rank",
                                      "Declare it as parallel: then it gets the communicator of "
                                      "its team"});
    }
}

void check_place(const std::optional<Near>& near, const Roles& roles) {
    if (near && !roles.runs_tasks(near->rank)) {
        throw InvalidArgument(Problem{"no task can run near this rank", text(near->rank),
                                      roles.workers_in_words(), ""});
    }
}

void check_needs(const TaskOptions& options, const PoolState& pool) {
    const auto& have = pool.options.scheduler.resources;
    for (const auto& [name, amount] : options.resources) {
        const auto found = have.find(name);
        if (found == have.end()) {
            std::vector<std::string> known;
            for (const auto& entry : have) {
                known.push_back(entry.first);
            }
            throw UnknownName(Problem{"the pool's hosts have no such resource", name,
                                      known.empty() ? "none: the pool names no resources" : "",
                                      did_you_mean(name, known)});
        }
        if (!(amount >= 0) || amount > found->second) {
            throw InvalidArgument(Problem{text("a task's amount of '", name, "' is out of range"),
                                          text(amount), text("0 to ", found->second), ""});
        }
    }
    const int widest = pool.server->widest_host();
    if ((options.exclusive || !options.resources.empty()) && options.ranks.least > widest) {
        throw InvalidArgument(Problem{"no host has as many ranks as a task wants",
                                      text(options.ranks.least, " ranks"),
                                      text("up to ", widest, " with resources or exclusive"), ""});
    }
}

/// Of bytes, another task, or its parts.
bool is_empty(const Input& input) {
    const FuturePtr* const other = future_of(input);
    return other != nullptr ? *other == nullptr
                            : std::get<std::shared_ptr<const Bytes>>(input) == nullptr;
}

void check_inputs(const std::vector<Argument>& arguments, const std::string& name) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (is_empty(arguments[i].input)) {
            throw InvalidArgument(Problem{text("input ", i, " of a task of '", name, "' is empty"),
                                          "a future of no task, or no bytes",
                                          "bytes, or a future that submit() returned",
                                          "Submit the task that makes it first"});
        }
    }
}

void check_parts(const std::vector<Argument>& arguments, const TaskOptions& options) {
    const Widths& ranks = options.ranks;
    if (options.keep_parts && ranks.moldable()) {
        throw InvalidArgument(Problem{"a task that keeps its parts has one width",
                                      text(ranks.least, " to ", ranks.most, " ranks"),
                                      "one number of ranks", ""});
    }
    for (const Argument& argument : arguments) {
        const auto* const own = std::get_if<OwnPart>(&argument.input);
        if (own == nullptr) {
            continue;
        }
        const auto parts = static_cast<int>(own->of->parts().size());
        if (parts == 0) {
            throw InvalidArgument(Problem{"a task has no parts for the ranks of another", "", "",
                                          "Let each of its ranks keep what it returns"});
        }
        if (ranks.least != parts || ranks.most != parts) {
            throw InvalidArgument(Problem{"a task whose ranks each get a part is as wide as theirs",
                                          text(ranks.most, " ranks"), text(parts, " ranks"),
                                          "Or give it the parts, as futures of their own"});
        }
    }
}

/// One for each rank of the team, with the numbers after the task's own.
void number_parts(FutureState& future, std::size_t count, PoolState& pool) {
    future.task = pool.last_task.fetch_add(1 + count) + 1;
    for (std::size_t i = 0; i < count; ++i) {
        auto part = std::make_shared<FutureState>();
        part->task = part_of(future.task, i);
        future.make_ties().parts.push_back(std::move(part));
    }
}

/// What a task asks for that those that start together cannot have; empty where there is nothing.
std::string not_together(const TaskOptions& options) {
    if (options.ranks.moldable()) {
        return text(options.ranks.least, " to ", options.ranks.most, " ranks");
    }
    if (options.near || options.near_task) {
        return "a place (near)";
    }
    if (options.retries > 0) {
        return text("retries=", options.retries);
    }
    if (options.exclusive) {
        return "exclusive";
    }
    return options.resources.empty() ? ""
                                     : text("resources, '", options.resources.begin()->first, "'");
}

void check_leads(const PoolState& pool, bool leads) {
    pool.check_process();
    if (!leads || pool.closed) {
        throw InvalidArgument(
            Problem{"a task cannot be submitted",
                    leads ? "the pool is closed" : text("rank ", pool.members.own_rank()),
                    "rank 0 of a pool that is open",
                    "Submit tasks where pool.leads() is true, before close()"});
    }
}

Server::Submission submission(PoolState& pool, const std::string& function,
                              std::vector<Argument> arguments, const TaskOptions& options) {
    const std::uint32_t number = pool.functions.number_of(function);
    check_width(options.ranks, pool.functions.at(number).runs,
                options.kind.empty() ? function : options.kind, pool.workers());
    check_place(options.near_task ? std::nullopt : options.near, pool.roles);
    check_needs(options, pool);
    check_inputs(arguments, function);
    check_parts(arguments, options);
    auto future = std::make_shared<FutureState>();
    if (options.keep_parts) {
        number_parts(*future, static_cast<std::size_t>(options.ranks.least), pool);
    } else {
        future->task = ++pool.last_task;
    }
    std::vector<Input> inputs;
    inputs.reserve(arguments.size());
    for (Argument& argument : arguments) {
        inputs.push_back(std::move(argument.input));
    }
    return {std::move(future), number, std::move(inputs), options, nullptr};
}

}  // namespace

Future Pool::submit(const std::string& function, std::vector<Argument> arguments,
                    const TaskOptions& options) {
    check_leads(*state_, leads());
    Server::Submission one = submission(*state_, function, std::move(arguments), options);
    FuturePtr future = one.future;
    state_->server->submit(std::move(one));
    return {std::move(future), state_.shared()};
}

std::vector<Future> Pool::submit_together(std::vector<Wanted> tasks) {
    check_leads(*state_, leads());
    int ranks = 0;
    for (const Wanted& task : tasks) {
        if (const std::string wrong = not_together(task.options); !wrong.empty()) {
            throw InvalidArgument(
                Problem{"tasks that start together have options that they cannot have", wrong,
                        "one width, no place, not exclusive, no resources and no retries", ""});
        }
        ranks += task.options.ranks.least;
    }
    if (tasks.empty() || ranks > workers()) {
        throw InvalidArgument(Problem{
            "these tasks cannot start together", text(tasks.size(), " tasks on ", ranks, " ranks"),
            text("1 task or more, on up to ", workers(), " ranks of this pool that serve"),
            "Ask for fewer ranks, or start a larger pool"});
    }
    std::vector<Server::Submission> submissions;
    std::vector<Future> futures;
    for (Wanted& task : tasks) {
        submissions.push_back(
            submission(*state_, task.function, std::move(task.arguments), task.options));
        futures.push_back({submissions.back().future, state_.shared()});
    }
    state_->server->submit_together(std::move(submissions));
    return futures;
}

}  // namespace fluvial::flow
