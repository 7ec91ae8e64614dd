// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/bell.hpp"

#include <cstddef>
#include <memory>
#include <new>

namespace fluvial::host {

Bells::Bells(const mpi::Comm& host)
    : memory_(HostMemory::allocate(host, 2 * sizeof(Bell))), any_(true) {
    new (of(host.rank())) Bell;
    host.barrier();
}

Bell* Bells::of(int host_rank) const {
    if (!any_ || host_rank < 0) {
        return nullptr;
    }
    void* at = memory_.memory(host_rank).data();
    std::size_t space = 2 * sizeof(Bell);
    return static_cast<Bell*>(std::align(alignof(Bell), sizeof(Bell), at, space));
}

}  // namespace fluvial::host
