// SPDX-License-Identifier: Apache-2.0
/// Channels of MPIStream.h over all ranks of a test.
#pragma once

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/c/MPIStream.h"

namespace fluvial::c {

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int world_size() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// With its consumers last; the only rank is both.
struct World {
    explicit World(int consumers = 1) {
        consumer = rank >= size - std::min(consumers, std::max(size - 1, 1));
        producer = !consumer || size == 1;
        REQUIRE(MPIStream_CreateChannel(producer, consumer, MPI_COMM_WORLD, &channel) ==
                MPI_SUCCESS);
        producers = size == 1 ? 1 : size - std::min(consumers, size - 1);
    }
    World(const World&) = delete;
    ~World() {
        if (channel.state != nullptr) {
            CHECK(MPIStream_FreeChannel(&channel) == MPI_SUCCESS);
        }
    }
    const int rank = world_rank(), size = world_size();
    int producers = 1;
    bool producer = false, consumer = false;
    MPIStream_Channel channel;
};

inline int sum_over_world(int mine) {
    int sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

inline bool all_ranks(bool here) {
    int mine = here ? 1 : 0, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all == 1;
}

inline bool error_says(const std::string& words) {
    INFO(MPIStream_LastError());
    return std::string(MPIStream_LastError()).find(words) != std::string::npos;
}

inline void add_long(void* in, void* inout, int* len, MPI_Datatype*) {
    if (*len == 0) {
        *static_cast<long*>(inout) = 0;
    }
    for (int i = 0; i < *len; ++i) {
        *static_cast<long*>(inout) += static_cast<long*>(in)[i];
    }
}

inline MPIStream_Operation sum_of_longs() {
    return {&add_long, MPI_SUM};
}

}  // namespace fluvial::c
