// SPDX-License-Identifier: Apache-2.0
/// What the ranks of a pool did when: for pictures such as Figure 10 of "Dataflow Coordination of
/// Data-Parallel Tasks via MPI 3.0".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/base/trace.hpp"

namespace fluvial::flow {

/// Bounded: when there are too many, brief tasks that follow each other closely on a rank become
/// one of each kind, as long as they were together.
class Timeline {
  public:
    /// For the ranks of a pool; their clocks and these make the clock of rank 0.
    explicit Timeline(std::vector<std::int64_t> clock_offsets_ns);

    /// A task is over. `began_ns` by the clock of rank `from`, one of `team`.
    void add(const std::string& kind, int from, const std::vector<int>& team, std::int64_t began_ns,
             double took_s);

    int size() const { return static_cast<int>(ranks_.size()); }
    /// The kinds of finished tasks, in the order in which each was first seen.
    const std::vector<std::string>& kinds() const { return kinds_; }
    /// Number of tasks that are over.
    std::uint64_t tasks() const { return tasks_; }
    /// By the clock of rank 0; `stream` is the number of the kind.
    std::span<const TraceEvent> of(int rank) const {
        return ranks_[static_cast<std::size_t>(rank)].events();
    }
    /// Seconds that all ranks have spent in tasks. Exact, also when events were put together.
    double busy_s() const { return busy_s_; }

  private:
    int number_of(const std::string& kind);

    std::vector<std::int64_t> clock_offsets_ns_;
    std::vector<Trace> ranks_;
    std::vector<std::string> kinds_;
    std::map<std::string, int> numbers_;
    std::uint64_t tasks_ = 0;
    double busy_s_ = 0;
};

}  // namespace fluvial::flow
