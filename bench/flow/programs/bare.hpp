// SPDX-License-Identifier: Apache-2.0
/// What a pool is measured beside, by bare MPI: no code of Fluvial. Each returns seconds, on rank
/// 0.
#pragma once

#include <cstdint>
#include <vector>

#include <mpi.h>

#include "../../stream/programs/clock.hpp"

namespace bare {

/// A group's communicator is made, met in and freed for each task: the paper's Figure 4.
inline double create_and_free(std::int64_t count) {
    MPI_Group world, pair;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int ranks[] = {0, 1};
    MPI_Group_incl(world, 2, ranks, &pair);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    for (std::int64_t task = 0; task < count; ++task) {
        MPI_Comm team;
        MPI_Comm_create_group(MPI_COMM_WORLD, pair, 0, &team);
        MPI_Comm_free(&team);
    }
    const double took = now() - begin;
    MPI_Group_free(&pair);
    MPI_Group_free(&world);
    return took;
}

/// The ranks meet in one communicator for each task.
inline double barriers(std::int64_t count) {
    MPI_Comm team;
    MPI_Comm_dup(MPI_COMM_WORLD, &team);
    MPI_Barrier(team);
    const double begin = now();
    for (std::int64_t task = 0; task < count; ++task) {
        MPI_Barrier(team);
    }
    const double took = now() - begin;
    MPI_Comm_free(&team);
    return took;
}

/// A message of a task's size to a worker and one back, with `depth` tasks at each worker.
struct Message {
    std::int64_t task = 0;
    std::int64_t function = 0;
};

inline void work() {
    for (;;) {
        Message message;
        MPI_Recv(&message, sizeof message, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (message.task < 0) {
            return;
        }
        MPI_Send(&message, sizeof message, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

inline double lead(std::int64_t count, std::int64_t depth) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double begin = now();
    std::int64_t sent = 0;
    const auto send = [&](int worker) {
        const Message message{sent++, 0};
        MPI_Send(&message, sizeof message, MPI_BYTE, worker, 0, MPI_COMM_WORLD);
    };
    for (std::int64_t round = 0; round < depth; ++round) {
        for (int worker = 1; worker < size && sent < count; ++worker) {
            send(worker);
        }
    }
    for (std::int64_t done = 0; done < count; ++done) {
        Message message;
        MPI_Status status;
        MPI_Recv(&message, sizeof message, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        if (sent < count) {
            send(status.MPI_SOURCE);
        }
    }
    const double took = now() - begin;
    for (int worker = 1; worker < size; ++worker) {
        const Message end{-1, 0};
        MPI_Send(&end, sizeof end, MPI_BYTE, worker, 0, MPI_COMM_WORLD);
    }
    return took;
}

inline double master_and_worker(std::int64_t count, std::int64_t depth) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        work();
        return 0;
    }
    return lead(count, depth);
}

}  // namespace bare
