// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "fluvial/flow/worker.hpp"
#include "fluvial/progress/service_thread.hpp"

namespace fluvial::flow {

/// Looks after a worker while that runs a task (Worker::attend).
class Worker::Attendant final : private progress::ServiceThread::Customer {
  public:
    explicit Attendant(Worker& worker);
    ~Attendant() override;
    Attendant(const Attendant&) = delete;
    Attendant& operator=(const Attendant&) = delete;
    void look_soon();

  private:
    std::optional<std::int64_t> visit(const progress::ServiceThread& by) override;

    Worker& worker_;
};

}  // namespace fluvial::flow
