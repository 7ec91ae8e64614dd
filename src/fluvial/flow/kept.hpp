// SPDX-License-Identifier: Apache-2.0
/// Results that stay on the rank that made them.
///
/// - A task with `keep` is done: its (first) rank keeps the result, the server a Kept.
/// - One with `keep_parts`: each rank of its team keeps what it returned, under a number of its own
///   (part_of), and the server a Kept of each. When the task fails, the server has them dropped.
/// - A task on that rank has it as input: it takes it where it lies.
/// - A task elsewhere has it as input: the server has the keeper give it to each rank of the team,
///   which waits for it.
/// - The program asks for the result: the server has the keeper give it to the lead.
/// - The last future of it is gone: the server has the keeper drop it.
/// - The keeper is lost: all that wait for it fail by that.
///
/// A keeper gives when its turn comes in the one sequence of orders, and goes on when that has
/// left; so no two ranks wait for each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/flow/function.hpp"
#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

/// A kept result as it travels: the number of its task, then, aligned, its bytes.
class KeptMessage {
  public:
    static constexpr std::size_t header_bytes = 16;

    static Bytes of(TaskId task, std::span<const std::byte> result) {
        Bytes message(header_bytes + result.size());
        std::memcpy(message.data(), &task, sizeof task);
        std::ranges::copy(result, message.begin() + header_bytes);
        return message;
    }
    static TaskId task(std::span<const std::byte> message) {
        return ByteReader(message).get<TaskId>();
    }
    static std::span<const std::byte> result(std::span<const std::byte> message) {
        return message.subspan(header_bytes);
    }
};

/// Kept results that no future can ask for any more. From any thread.
class Droppings {
  public:
    struct One {
        int rank = 0;
        TaskId task = 0;
    };

    void add(One one) {
        const std::lock_guard lock(mutex_);
        all_.push_back(one);
        any_.store(true, std::memory_order_release);
    }
    std::vector<One> take() {
        if (!any_.load(std::memory_order_acquire)) {
            return {};
        }
        const std::lock_guard lock(mutex_);
        any_ = false;
        return std::exchange(all_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<One> all_;
    std::atomic<bool> any_{false};
};

/// Shared by the futures of a result that has stayed where it was made.
struct Kept {
    Kept(int keeper, TaskId of, std::shared_ptr<Droppings> droppings)
        : rank(keeper), task(of), droppings_(std::move(droppings)) {}
    ~Kept() { droppings_->add({rank, task}); }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    int rank;     ///< of the pool
    TaskId task;  ///< that made it
    std::atomic<bool> fetched{false};
    // Once it has been fetched these do not change:
    std::shared_ptr<const Bytes> bytes;
    std::shared_ptr<const TaskFailure> failure;  ///< null: they are there

    void settle(std::shared_ptr<const Bytes> result, std::shared_ptr<const TaskFailure> why) {
        bytes = std::move(result);
        failure = std::move(why);
        fetched.store(true, std::memory_order_release);
    }

  private:
    std::shared_ptr<Droppings> droppings_;
};

}  // namespace fluvial::flow
