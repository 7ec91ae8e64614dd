// SPDX-License-Identifier: Apache-2.0
/// Collective operations under SMPI, where ranks share a process: each leaves the address of what
/// it has, and all look there. They take no time on the simulated machine, and not the square of
/// the ranks on the real one. No part of what is timed is collective.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <mpi.h>
#include <simgrid/barrier.h>

/// Of the ranks of a communicator and its duplicates, which never call collectives at the same
/// time.
class SharedBarrier {
  public:
    static SharedBarrier& of(MPI_Comm comm) {
        int size = 0;
        MPI_Comm_size(comm, &size);
        MPI_Group group, world;
        MPI_Comm_group(comm, &group);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        const int first = 0;
        int name = 0;  // the first rank's number in the job
        MPI_Group_translate_ranks(group, 1, &first, world, &name);
        MPI_Group_free(&group);
        MPI_Group_free(&world);
        static std::map<std::pair<int, int>, SharedBarrier> all;
        return all.try_emplace({name, size}, size).first->second;
    }

    explicit SharedBarrier(int size)
        : barrier_(sg_barrier_init(static_cast<unsigned>(size))),
          given_(static_cast<std::size_t>(size)) {}

    void wait() { sg_barrier_wait(barrier_); }
    /// Leaves `mine`, and calls `use` with what all ranks have left.
    template <class Use>
    void share(MPI_Comm comm, const void* mine, const Use& use) {
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        given_[static_cast<std::size_t>(rank)] = mine;
        wait();
        use(given_, rank);
        wait();  // until then it has to stay where it is
    }
    std::vector<std::byte>& result() { return result_; }

  private:
    sg_bar_t barrier_;
    std::vector<const void*> given_;
    std::vector<std::byte> result_;
};

inline std::size_t simulated_bytes(int count, MPI_Datatype type) {
    int size = 0;
    MPI_Type_size(type, &size);
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

inline int simulated_barrier(MPI_Comm comm) {
    SharedBarrier::of(comm).wait();
    return MPI_SUCCESS;
}

inline int simulated_allgatherv(const void* mine, void* all, const int* counts, const int* places,
                                MPI_Datatype type, MPI_Comm comm) {
    SharedBarrier::of(comm).share(comm, mine, [&](const auto& given, int) {
        for (std::size_t r = 0; r < given.size(); ++r) {
            std::memcpy(static_cast<std::byte*>(all) + simulated_bytes(places[r], type), given[r],
                        simulated_bytes(counts[r], type));
        }
    });
    return MPI_SUCCESS;
}

inline int simulated_allgather(const void* mine, int count, MPI_Datatype type, void* all,
                               MPI_Comm comm) {
    const std::size_t bytes = simulated_bytes(count, type);
    SharedBarrier::of(comm).share(comm, mine, [&](const auto& given, int) {
        for (std::size_t r = 0; r < given.size(); ++r) {
            std::memcpy(static_cast<std::byte*>(all) + r * bytes, given[r], bytes);
        }
    });
    return MPI_SUCCESS;
}

/// The first rank reduces for all.
inline int simulated_allreduce(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm) {
    SharedBarrier& barrier = SharedBarrier::of(comm);
    if (mine == MPI_IN_PLACE) {
        mine = all;
    }
    barrier.share(comm, mine, [&](const auto& given, int rank) {
        if (rank != 0) {
            return;
        }
        const auto* first = static_cast<const std::byte*>(given[0]);
        barrier.result().assign(first, first + simulated_bytes(count, type));
        for (std::size_t r = 1; r < given.size(); ++r) {
            MPI_Reduce_local(given[r], barrier.result().data(), count, type, op);
        }
    });
    std::memcpy(all, barrier.result().data(), barrier.result().size());
    return MPI_SUCCESS;
}

#define MPI_Barrier(comm) simulated_barrier(comm)
#define MPI_Allgather(mine, count, type, all, counts, types, comm) \
    simulated_allgather(mine, count, type, all, comm)
#define MPI_Allgatherv(mine, count, type, all, counts, places, types, comm) \
    simulated_allgatherv(mine, all, counts, places, types, comm)
#define MPI_Allreduce(mine, all, count, type, op, comm) \
    simulated_allreduce(mine, all, count, type, op, comm)
