// SPDX-License-Identifier: Apache-2.0
/// The ranks that do something together from Python, and watch each other meanwhile.
#pragma once

#include <optional>

#include "communicator.hpp"
#include "fluvial/move/rank_watch.hpp"

namespace fluvial::python {

/// A duplicate of the user's communicator for one task, in whose calls ranks that do not run, or
/// end by an error of their own, are an error on all (move/rank_watch.hpp).
class WatchedRanks {
  public:
    /// Collective, blocking, where there is a handle. `of` is what has the limit, and outlives
    /// this.
    WatchedRanks(std::optional<long> handle, double stall_timeout_s, const char* of)
        : task_(handle ? move::RankWatch::of(*handle) : nullptr, stall_timeout_s, of),
          comm_(duplicate(handle)) {}
    WatchedRanks(WatchedRanks&&) = default;
    ~WatchedRanks() { comm_.abandon(); }

    mpi::Comm& comm() { return comm_; }
    const move::WatchedTask& task() const { return task_; }

    /// Returns what `work` does, a call of all ranks.
    template <class Work>
    auto together(Work&& work) {
        return task_.during(work);
    }
    /// Collective; local where the last call has not ended on all ranks.
    void close() {
        if (task_.ended()) {
            comm_.abandon();
        } else {
            comm_.close();
        }
    }

  private:
    mpi::Comm duplicate(std::optional<long> handle) const {
        task_.come();
        return task_.during([&] { return to_comm(handle); });
    }

    move::WatchedTask task_;
    mpi::Comm comm_;
};

}  // namespace fluvial::python
