// SPDX-License-Identifier: Apache-2.0
/// A channel is used by one thread at a time. Where calls cannot be trusted to keep to that (those
/// of a Python program), the second thread gets an error instead of a broken channel.
#pragma once

#include <atomic>
#include <thread>

#include "fluvial/base/error.hpp"

namespace fluvial {

class OnlyThread {
  public:
    class Call;

  private:
    std::atomic<std::thread::id> inside_ = {};
};

/// From its construction to its destruction this thread is inside. Calls of one thread may nest, as
/// those of an operation do. Throws InvalidArgument while another thread is inside.
class OnlyThread::Call {
  public:
    explicit Call(OnlyThread& channel) : channel_(channel) {
        std::thread::id found;
        if (channel.inside_.compare_exchange_strong(found, std::this_thread::get_id())) {
            outermost_ = true;
        } else if (found != std::this_thread::get_id()) {
            throw InvalidArgument(Problem{
                "two threads use one channel at the same time", "a call during another thread's",
                "one thread at a time for a channel and all its streams",
                "Make all calls, close() too, in one thread, or let threads take turns by a lock"});
        }
    }
    ~Call() {
        if (outermost_) {
            channel_.inside_ = std::thread::id();
        }
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    OnlyThread& channel_;
    bool outermost_ = false;
};

}  // namespace fluvial
