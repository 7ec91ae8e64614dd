// SPDX-License-Identifier: Apache-2.0
/// Which of two ways of doing the same work is faster, where that depends on the machine and on
/// what else it does: both are tried for a short while, the faster one is taken for much longer,
/// and then they are tried again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace fluvial {

/// Work is counted in what suits: bytes, or calls.
struct TrialRules {
    std::int64_t round;                 ///< work that is timed at a time, at least
    int rounds;                         ///< of a trial: of each way in turn, the first one first
    std::array<std::int64_t, 2> rest;   ///< work until the next trial, by the way that won
    std::optional<double> second_cost;  ///< of a unit of work; the second way is not tried then
};

/// One thread's. Deterministic: it has no clock but what it is told.
///
///     Trial trial({.round = 2 << 20, .rounds = 6, .rest = {512 << 20, 512 << 20}});
///     const bool second = trial.way() == 1;
///     const std::int64_t begin_ns = now_ns();
///     work(second, bytes);
///     trial.took(bytes, static_cast<double>(now_ns() - begin_ns));
class Trial {
  public:
    /// Begins with a trial.
    explicit Trial(const TrialRules& rules) : rules_(rules) { begin(); }

    /// How to work now: 0 or 1.
    int way() const { return way_; }
    /// Whether this work is timed; what else is told as its cost does not count.
    bool tries() const { return round_ < rules_.rounds; }
    /// So much was done by way(), at that cost. A round that was held up does not decide: the
    /// cheapest round of each way counts, and of equal ones the first way wins.
    void took(std::int64_t work, double cost) {
        work_ += work;
        cost_ += cost;
        if (work_ < (tries() ? rules_.round : rules_.rest[static_cast<std::size_t>(way_)])) {
            return;
        }
        if (tries()) {
            end_round();
        } else {
            begin();
        }
    }

  private:
    void begin() {
        best_ = {untried, rules_.second_cost.value_or(untried)};
        round_ = 0;
        start(0);
    }
    void start(int way) {
        way_ = way;
        work_ = 0;
        cost_ = 0;
    }
    void end_round() {
        double& best = best_[static_cast<std::size_t>(way_)];
        best = std::min(best, cost_ / static_cast<double>(work_));
        ++round_;
        if (tries()) {
            start(rules_.second_cost ? 0 : 1 - way_);
            return;
        }
        start(best_[1] < best_[0] ? 1 : 0);
        if (rules_.rest[static_cast<std::size_t>(way_)] == 0) {
            begin();
        }
    }

    static constexpr double untried = std::numeric_limits<double>::infinity();

    TrialRules rules_;
    std::array<double, 2> best_;  ///< cost of a unit of work
    int round_;                   ///< of the trial; `rounds`: it is over
    int way_;
    std::int64_t work_;  ///< of the round, or since the trial was over
    double cost_;
};

}  // namespace fluvial
