// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/begun_tasks.hpp"

#include <new>

namespace fluvial::flow {

BegunTasks::BegunTasks(const mpi::Comm& host) {
    if (host.size() == 1) {
        return;
    }
    memory_ = host::HostMemory::allocate(host, sizeof(Last));
    own_ = new (memory_.memory(host.rank()).data()) Last{0};
    for (int rank = 0; rank < host.size(); ++rank) {
        all_.push_back(std::launder(reinterpret_cast<Last*>(memory_.memory(rank).data())));
    }
    host.barrier();  // before anybody reads what another one makes here
}

BegunTasks::~BegunTasks() {
    memory_.abandon();  // a rank of the pool may be lost
}

TaskId BegunTasks::last(int rank) const {
    return all_.at(static_cast<std::size_t>(rank))->load(std::memory_order_acquire);
}

}  // namespace fluvial::flow
