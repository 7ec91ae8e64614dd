// SPDX-License-Identifier: Apache-2.0
/// What one thread waits for and another tells of: the thread that waits serves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace fluvial::progress {

/// Set by any thread; as the event of Python's threading. Outlives the threads that wait for it.
class ServingEvent {
  public:
    void set();
    /// Not set any more. A thread that waits meanwhile may miss what was set before.
    void clear() { set_ = false; }
    bool is_set() const { return set_; }
    /// Blocking until it is set, for `timeout_s` at most (infinity: without limit). Unless it is
    /// set already, this thread serves what it has meanwhile, at least once. Returns whether it is
    /// set; throws what ends a wait.
    bool wait(double timeout_s);

  private:
    class Waits;

    std::mutex mutex_;  ///< no thread waits for another one while it has it
    std::condition_variable told_;
    std::atomic<bool> set_{false};
};

}  // namespace fluvial::progress
