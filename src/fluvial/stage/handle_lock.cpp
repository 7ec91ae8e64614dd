// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handle_lock.hpp"

#include <algorithm>
#include <chrono>

#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::stage {

/// Looks with the turn, and serves and sleeps without it.
class HandleLock::Leaving final : public progress::Waiting {
  public:
    Leaving(HandleLock& handle, std::unique_lock<std::mutex>& lock,
            const std::function<bool()>& done)
        : handle_(handle), lock_(lock), done_(done) {}
    /// The turn is the caller's again, however the wait ended.
    ~Leaving() override { regain(); }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    Seen look() override {
        regain();
        if (done_()) {
            return Seen::End;
        }
        lock_.unlock();
        return Seen::Nothing;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr std::chrono::milliseconds look_every(100);  // for Ctrl-C
        constexpr std::chrono::microseconds brief(100);
        lock_.lock();
        handle_.left_.wait_for(lock_, serving ? brief : look_every, done_);
        back_off.slept();
    }

  private:
    void regain() {
        if (!lock_.owns_lock()) {
            lock_.lock();
        }
    }

    HandleLock& handle_;
    std::unique_lock<std::mutex>& lock_;
    const std::function<bool()>& done_;
};

void HandleLock::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
    if (done()) {
        return;
    }
    Leaving leaving(*this, lock, done);
    progress::BackOff back_off;
    progress::wait(leaving, back_off);
}

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
    handle_.wait(lock_, [&] {
        if (done()) {
            return true;
        }
        if (!handle_.others_inside()) {
            throw InvalidArgument(Problem{what_, "another call of this thread is under way", "",
                                          "Let that return first"});
        }
        handle_.check_open(what_);
        return false;
    });
    handle_.check_open(what_);
}

HandleLock::Closing::Closing(HandleLock& handle, const std::function<void()>& allow,
                             const std::function<void()>& wake)
    : handle_(handle), lock_(handle.mutex_) {
    const auto by_this_thread = [&] {
        return handle.inside() ||
               (handle.state_ == State::Closing && handle.closer_ == std::this_thread::get_id());
    };
    handle.wait(lock_, [&] { return handle.state_ != State::Closing || by_this_thread(); });
    if (handle.state_ == State::Closed) {
        return;
    }
    if (by_this_thread()) {
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
    try {
        handle.wait(lock_, [&] { return handle.inside_.empty(); });
    } catch (...) {
        end();
        throw;
    }
}

HandleLock::Closing::~Closing() {
    if (mine_) {
        end();
    }
}

void HandleLock::Closing::end() {
    handle_.state_ = done_ ? State::Closed : State::Open;
    handle_.left_.notify_all();
}

}  // namespace fluvial::stage
