// SPDX-License-Identifier: Apache-2.0
/// How long tasks take, learned from those that have finished: pure.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

class CostBook {
  public:
    /// Seconds that a task of this kind and width will take; unknown_s while nothing says. The
    /// caller's own estimate, where there is one, is multiplied by how far off such estimates were.
    double estimate_s(std::uint32_t kind, int width, double cost_s) const;
    void learn(std::uint32_t kind, int width, double cost_s, double took_s);
    /// The typical time of all finished tasks; one second before any has finished.
    double typical_s() const { return finished_ > 0 ? typical_s_ : 1; }
    /// Seconds that tasks of this kind took lately, on average; infinity before one has finished.
    /// A task that took seconds is remembered for some hundreds of brief tasks; a task that lost
    /// its core for a time slice, for dozens.
    double lately_s(std::uint32_t kind) const;
    /// Tasks of this kind that have finished.
    std::uint64_t finished(std::uint32_t kind) const;
    /// Changes when some estimate has changed by more than a tenth since it was made.
    std::uint64_t edition() const { return edition_; }

  private:
    struct Entry {
        std::uint64_t finished = 0;
        double mean = 0;     ///< of seconds, or of the factor by which estimates are off
        double printed = 0;  ///< the mean in this edition
    };
    struct Kind {
        Entry factor;
        std::uint64_t finished = 0;
        double lately_s = -1;  ///< the mean of some dozens
    };

    void add(Entry& entry, double value);

    std::unordered_map<std::uint64_t, Entry> seconds_;  ///< by kind and width
    std::unordered_map<std::uint32_t, Kind> kinds_;
    std::uint64_t finished_ = 0;
    double typical_s_ = 0;
    std::uint64_t edition_ = 0;
};

}  // namespace fluvial::flow
