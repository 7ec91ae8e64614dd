// SPDX-License-Identifier: Apache-2.0
/// A thread that shows that this process runs: a stopped process (SIGSTOP) holds its alive lock but
/// does not beat.
///
/// A thread of its own for each handle, and no customer of progress/service_thread.hpp: that thread
/// ends with MPI, and a stream may be open for longer; and what a reader elsewhere does at each
/// beat may wait two seconds for a connection (RemoteSeat::beat), in which others would not beat.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace fluvial::stage {

class Heartbeat {
  public:
    /// Stores the time into `beat_ns` every `interval_s` and calls `also`, if given, as often.
    /// `beat_ns` must outlive this object.
    Heartbeat(std::atomic<std::int64_t>& beat_ns, double interval_s,
              std::function<void()> also = {});
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

/// Often enough that a busy host does not look like a stopped process, also to a peer whose own
/// stall_timeout is the shortest that is allowed.
inline double beat_interval_s(double stall_timeout_s) {
    return stall_timeout_s / 10 < 0.05 ? stall_timeout_s / 10 : 0.05;
}

}  // namespace fluvial::stage
