// SPDX-License-Identifier: Apache-2.0
/// All ranks of a test.
#pragma once

#include <cstdint>

#include "fluvial/mpi/comm.hpp"

namespace fluvial {

inline mpi::Comm& world() {
    static mpi::Comm comm;
    if (comm.serial()) {
        comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    }
    return comm;
}
inline int world_rank() {
    return world().rank();
}
inline int world_size() {
    return world().size();
}
inline std::int64_t sum_over_world(std::int64_t mine) {
    return world().sum(mine);
}

}  // namespace fluvial
