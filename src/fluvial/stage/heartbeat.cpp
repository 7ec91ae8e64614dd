// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/heartbeat.hpp"

#include <chrono>
#include <utility>

#include "fluvial/base/clock.hpp"

namespace fluvial::stage {

Heartbeat::Heartbeat(std::atomic<std::int64_t>& beat_ns, double interval_s,
                     std::function<void()> also)
    : thread_([this, &beat_ns, interval_s, also = std::move(also)] {
          std::unique_lock lock(mutex_);
          while (!stop_) {
              beat_ns.store(now_ns(), std::memory_order_relaxed);
              if (also) {
                  lock.unlock();
                  also();
                  lock.lock();
              }
              wake_.wait_for(lock, std::chrono::duration<double>(interval_s),
                             [this] { return stop_; });
          }
      }) {}

Heartbeat::~Heartbeat() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

}  // namespace fluvial::stage
