// SPDX-License-Identifier: Apache-2.0
/// Operations of MPI that are waited for together.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/move/looked_time.hpp"
#include "fluvial/mpi/request.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {

class MessagesOnTheirWay final : public progress::Waiting {
  public:
    /// `what` begins the message of a TimedOut after so long without any movement.
    MessagesOnTheirWay(const char* what, double stall_timeout_s)
        : what_(what), stall_timeout_s_(stall_timeout_s) {}
    ~MessagesOnTheirWay() override {
        for (Entry& entry : entries_) {
            entry.request.abandon();  // only after an error
        }
    }
    /// `then` when it is complete.
    void add(mpi::Request request, std::function<void(mpi::Request&)> then = {}) {
        entries_.push_back({std::move(request), std::move(then)});
    }
    /// Blocking; a rank that waits serves.
    void wait() {
        progress::BackOff back_off;
        progress::wait(*this, back_off);
        entries_.clear();
    }
    Seen look() override {
        bool moved = false;
        for (std::size_t i = 0; i < entries_.size();) {
            if (!entries_[i].request.test()) {
                ++i;
                continue;
            }
            moved = true;
            if (entries_[i].then) {
                entries_[i].then(entries_[i].request);
            }
            entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (moved) {
            moved_s_ = clock_.seconds();
        }
        return entries_.empty() ? Seen::End : moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        Waiting::look_around(waited_s);
        clock_.look();
        if (clock_.seconds() - moved_s_ > stall_timeout_s_) {
            throw TimedOut(Problem{text(what_, " has not moved on"),
                                   text("for ", stall_timeout_s_, " s"), "",
                                   "A rank may have died, or may not have called it; or give it "
                                   "more time"});
        }
    }

  private:
    struct Entry {
        mpi::Request request;
        std::function<void(mpi::Request&)> then;
    };

    const char* what_;
    double stall_timeout_s_, moved_s_ = 0;
    LookedTime clock_;
    std::vector<Entry> entries_;
};

}  // namespace fluvial::move
