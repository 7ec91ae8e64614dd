// SPDX-License-Identifier: Apache-2.0
/// Which task each rank of a host has begun last, in memory that the others of the host see, also
/// when the rank has been killed: what it was sent behind that task has not begun.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "fluvial/flow/request.hpp"
#include "fluvial/host/host_memory.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::flow {

class BegunTasks {
  public:
    /// Collective over the ranks of a host, blocking.
    explicit BegunTasks(const mpi::Comm& host);
    ~BegunTasks();
    BegunTasks(const BegunTasks&) = delete;
    BegunTasks& operator=(const BegunTasks&) = delete;

    /// This rank begins a task now. Costs a store.
    void note(TaskId task) {
        if (own_ != nullptr) {
            own_->store(task, std::memory_order_release);
        }
    }
    /// By its rank in the communicator of the host; 0: none.
    TaskId last(int rank) const;

  private:
    using Last = std::atomic<TaskId>;
    static_assert(Last::is_always_lock_free);

    host::HostMemory memory_;
    std::vector<Last*> all_;
    Last* own_ = nullptr;  ///< null where nobody else is on the host
};

}  // namespace fluvial::flow
