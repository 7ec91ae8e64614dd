// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handle_lock.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {

std::unique_lock<std::mutex> HandleLock::turn() const {
    check_process();
    return std::unique_lock(mutex_);
}

bool HandleLock::is_open() const {
    const std::lock_guard lock(mutex_);
    return state_ == State::Open;
}

bool HandleLock::inside() const {
    return std::find(inside_.begin(), inside_.end(), std::this_thread::get_id()) != inside_.end();
}

bool HandleLock::others_inside() const {
    return std::any_of(inside_.begin(), inside_.end(),
                       [](std::thread::id id) { return id != std::this_thread::get_id(); });
}

void HandleLock::check_open(const char* what) const {
    if (state_ == State::Open) {
        return;
    }
    const bool by_other = closer_ != std::this_thread::get_id();
    throw InvalidArgument(
        Problem{what, by_other ? "the stream was closed by another thread" : "the stream is closed",
                "an open stream", by_other ? "Close it when its threads have ended" : ""});
}

HandleLock::Call::Call(HandleLock& handle, const char* what) : handle_(handle), what_(what) {
    handle.check_process();
    lock_ = std::unique_lock(handle.mutex_);
    handle.check_open(what);
    handle.inside_.push_back(std::this_thread::get_id());
}

HandleLock::Call::~Call() {
    auto& inside = handle_.inside_;
    inside.erase(std::find(inside.begin(), inside.end(), std::this_thread::get_id()));
    if (!inside.empty() || handle_.state_ == State::Closing) {
        handle_.left_.notify_all();
    }
}

void HandleLock::Call::wait_for(const std::function<bool()>& done) {
    while (!done()) {
        if (!handle_.others_inside()) {
            throw InvalidArgument(Problem{what_, "another call of this thread is under way", "",
                                          "Let that return first"});
        }
        handle_.check_open(what_);
        handle_.left_.wait(lock_);
    }
    handle_.check_open(what_);
}

HandleLock::Closing::Closing(HandleLock& handle, const std::function<void()>& allow,
                             const std::function<void()>& wake)
    : handle_(handle), lock_(handle.mutex_) {
    handle.left_.wait(lock_, [&] { return handle.state_ != State::Closing || handle.inside(); });
    if (handle.state_ == State::Closed) {
        return;
    }
    if (handle.inside()) {
        throw InvalidArgument(Problem{
            "the stream cannot be closed", "this thread is inside of one of its calls",
            "a close() that waits for no call of its own thread",
            "Raise an exception in the signal's handler or the operator, and close afterwards"});
    }
    allow();
    handle.state_ = State::Closing;
    handle.closer_ = std::this_thread::get_id();
    mine_ = true;
    wake();
    handle.left_.wait(lock_, [&] { return handle.inside_.empty(); });
}

HandleLock::Closing::~Closing() {
    if (mine_) {
        handle_.state_ = done_ ? State::Closed : State::Open;
        handle_.left_.notify_all();
    }
}

}  // namespace fluvial::stage
