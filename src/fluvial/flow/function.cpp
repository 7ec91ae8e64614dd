// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/function.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::flow {

namespace {

thread_local const std::function<bool()>* running_task = nullptr;
thread_local std::atomic<bool>* signalled_task = nullptr;

}  // namespace

bool task_cancelled() {
    return running_task != nullptr && (*running_task)();
}

bool take_cancellation() {
    return signalled_task != nullptr && signalled_task->exchange(false);
}

RunningTask::RunningTask(const std::function<bool()>& cancelled, bool* broke_off,
                         std::atomic<bool>* signalled)
    : before_(std::exchange(running_task, &cancelled)),
      signalled_before_(std::exchange(signalled_task, signalled)) {
    if (broke_off == nullptr) {
        return;
    }
    check_.emplace([&cancelled, broke_off] {
        if (cancelled()) {
            *broke_off = true;
            throw TaskCancelled("the task was cancelled while it ran");
        }
    });
}

RunningTask::~RunningTask() {
    running_task = before_;
    signalled_task = signalled_before_;
}

void Functions::add(const std::string& name, Function function, Runs runs) {
    if (std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.name == name; })) {
        throw InvalidArgument(Problem{"two functions of tasks have one name", name,
                                      "a name for each", "Add each function once"});
    }
    entries_.push_back({name, std::move(function), runs});
}

std::uint32_t Functions::number_of(const std::string& name) const {
    for (std::uint32_t number = 0; number < entries_.size(); ++number) {
        if (entries_[number].name == name) {
            return number;
        }
    }
    std::vector<std::string> known;
    for (const Entry& entry : entries_) {
        known.push_back(entry.name);
    }
    throw UnknownName(
        Problem{"no function of tasks has this name", name, "", did_you_mean(name, known)});
}

void TaskFailure::write(ByteWriter& out) const {
    out.put_string(kind);
    out.put_string(message);
    out.put<std::int32_t>(rank);
    out.put_block(details.data(), details.size());
}

TaskFailure TaskFailure::read(ByteReader& in) {
    TaskFailure failure;
    failure.kind = in.get_string();
    failure.message = in.get_string();
    failure.rank = in.get<std::int32_t>();
    const auto details = in.get_block();
    failure.details.assign(details.begin(), details.end());
    return failure;
}

TaskFailure cancelled_before_it_began() {
    return {"TaskCancelled", "the task was cancelled before it began", -1, {}};
}

void TaskFailure::raise() const {
    throw_error(kind, rank < 0 ? message : text("rank ", rank, " of the pool: ", message));
}

}  // namespace fluvial::flow
