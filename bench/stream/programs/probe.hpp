// SPDX-License-Identifier: Apache-2.0
/// How far apart two cores are: a flag goes to and fro through shared memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <mpi.h>

/// Collective. Between rank 0 and rank `other`, on one host; the others have no part in it.
class Probe {
  public:
    Probe(MPI_Comm comm, int other) {
        MPI_Comm_rank(comm, &rank_);
        const bool takes_part = rank_ == 0 || rank_ == other;
        MPI_Comm_split(comm, takes_part ? 0 : MPI_UNDEFINED, rank_, &comm_);
        if (!takes_part) {
            return;
        }
        MPI_Comm_rank(comm_, &rank_);
        void* mine = nullptr;
        MPI_Win_allocate_shared(rank_ == 0 ? page : 0, 1, MPI_INFO_NULL, comm_, &mine, &window_);
        MPI_Aint bytes = 0;
        int unit = 0;
        MPI_Win_shared_query(window_, 0, &bytes, &unit, &mine);
        flag_ = static_cast<std::atomic<std::uint64_t>*>(mine);
        if (rank_ == 0) {
            flag_->store(0);
        }
        MPI_Barrier(comm_);
    }
    ~Probe() {
        if (comm_ != MPI_COMM_NULL) {
            MPI_Win_free(&window_);
            MPI_Comm_free(&comm_);
        }
    }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

    /// Nanoseconds one way: the least mean of a few series, so that an interruption does not count;
    /// 0 on the others.
    double one_way_ns() {
        if (comm_ == MPI_COMM_NULL) {
            return 0;
        }
        MPI_Barrier(comm_);
        double least = 1e9;
        for (int series = 0; series < 4; ++series) {
            const double begin = MPI_Wtime();
            for (int i = 0; i < round_trips; ++i) {
                const std::uint64_t turn = said_ + (rank_ == 0 ? 0U : 1U);
                while (flag_->load(std::memory_order_acquire) != turn) {
                }
                flag_->store(turn + 1, std::memory_order_release);
                said_ += 2;
            }
            least = std::min(least, (MPI_Wtime() - begin) / round_trips / 2 * 1e9);
        }
        MPI_Bcast(&least, 1, MPI_DOUBLE, 0, comm_);
        return least;
    }

  private:
    static constexpr std::size_t page = 4096;
    static constexpr int round_trips = 200;

    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    int rank_ = 0;
    std::atomic<std::uint64_t>* flag_ = nullptr;
    std::uint64_t said_ = 0;
};
