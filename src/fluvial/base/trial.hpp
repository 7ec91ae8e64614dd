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

/// By what a way is judged.
enum class TrialJudges {
    /// By its cheapest round of the trial: a round that was held up does not decide. Nothing is
    /// timed between trials.
    Cheapest,
    /// By the median of its last rounds: a round that was cheap by chance does not decide either.
    /// Rounds between trials count, too: as soon as they make the way in use the dearer one, the
    /// other is taken. So all trials but the first are one round of the other way.
    Median,
};

/// Work is counted in what suits: bytes, or calls.
struct TrialRules {
    std::int64_t round;                 ///< work that is timed at a time, at least
    int rounds;                         ///< of a trial: of each way in turn, the first one first
    std::array<std::int64_t, 2> rest;   ///< work until the next trial, by the way that won
    std::optional<double> second_cost;  ///< of a unit of work; the second way is not tried then
    TrialJudges judges = TrialJudges::Cheapest;
    double second_gain = 1;  ///< the second way wins when it costs less than so much of the first
    std::int64_t rest_max = 0;  ///< while the same way wins, rests get twice as long, up to this
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
    /// Of how many rounds of a way the median is taken, at most.
    static constexpr int remembered = 5;

    /// Begins with a trial.
    explicit Trial(const TrialRules& rules) : rules_(rules) { begin(); }

    /// How to work now: 0 or 1.
    int way() const { return way_; }
    /// Whether a trial is under way. By TrialJudges::Cheapest, what is told as the cost of other
    /// work does not count.
    bool tries() const { return left_[0] + left_[1] > 0; }
    /// What a unit of work costs by this way, as far as is known: infinitely much where it is not.
    double cost(int way) const { return judged(costs_[static_cast<std::size_t>(way)]); }

    /// So much was done by way(), at that cost. Of ways that cost the same the first one wins.
    void took(std::int64_t work, double cost) {
        work_ += work;
        cost_ += cost;
        if (work_ >= (tries() || all_count() ? rules_.round : rest_)) {
            end_round();
        }
    }
    /// The same for a round that was broken off because it went badly. The first round of a way is
    /// enough then: in this trial it is not tried again.
    void broke_off(std::int64_t work, double cost) {
        work_ += work;
        cost_ += cost;
        Costs& known = costs_[static_cast<std::size_t>(way_)];
        if (known.rounds == 0) {
            while (known.rounds < remembered - 1) {
                known.note(cost_ / static_cast<double>(work_));
            }
            left_[static_cast<std::size_t>(way_)] = tries() ? 1 : 0;
        }
        end_round();
    }

  private:
    static constexpr double untried = std::numeric_limits<double>::infinity();

    /// Of a unit of work, by round.
    struct Costs {
        void note(double cost) {
            cheapest = std::min(cheapest, cost);
            last[static_cast<std::size_t>(rounds++ % remembered)] = cost;
        }
        double median() const {
            std::array<double, remembered> sorted = last;
            std::sort(sorted.begin(), sorted.end());  // what is not known comes last
            return sorted[static_cast<std::size_t>(std::min(rounds, remembered) / 2)];
        }
        double cheapest = untried;
        std::array<double, remembered> last{untried, untried, untried, untried, untried};
        int rounds = 0;
    };

    bool all_count() const { return rules_.judges == TrialJudges::Median; }
    double judged(const Costs& costs) const {
        return all_count() ? costs.median() : costs.cheapest;
    }
    int winner() const { return cost(1) < rules_.second_gain * cost(0) ? 1 : 0; }
    void begin() {
        const int rounds = rules_.rounds;
        costs_ = {};
        if (rules_.second_cost) {
            costs_[1].note(*rules_.second_cost);
            left_ = {rounds, 0};
        } else {
            left_ = {rounds - rounds / 2, rounds / 2};
        }
        start(0);
    }
    void begin_again() {
        if (!all_count()) {
            begin();
            return;
        }
        const int other = 1 - way_;
        left_[static_cast<std::size_t>(other)] = 1;
        start(other);
    }
    void start(int way) {
        way_ = way;
        work_ = 0;
        cost_ = 0;
    }
    void end_round() {
        const auto way = static_cast<std::size_t>(way_);
        if (tries() || all_count()) {
            costs_[way].note(cost_ / static_cast<double>(work_));
        }
        if (tries()) {
            --left_[way];
            if (tries()) {
                start(left_[1] > left_[0] ? 1 : 0);
            } else {
                take(winner());
            }
            return;
        }
        rested_ += work_;
        if (all_count() && winner() != way_) {
            take(winner());
        } else if (rested_ >= rest_) {
            begin_again();
        } else {
            start(way_);
        }
    }
    /// Until the next trial.
    void take(int way) {
        const std::int64_t rest = rules_.rest[static_cast<std::size_t>(way)];
        rest_ = way == taken_ ? std::max(rest, std::min(2 * rest_, rules_.rest_max)) : rest;
        rested_ = 0;
        taken_ = way;
        start(way);
        if (rest_ == 0) {
            begin_again();
        }
    }

    TrialRules rules_;
    std::array<Costs, 2> costs_;
    std::array<int, 2> left_{};  ///< rounds of the trial that each way still has
    int way_ = 0;
    int taken_ = -1;           ///< the way that won the last trial, if there was one
    std::int64_t rest_ = 0;    ///< work until the next trial
    std::int64_t rested_ = 0;  ///< of that, the rounds that are over
    std::int64_t work_ = 0;    ///< of the round; by TrialJudges::Cheapest a rest is one
    double cost_ = 0;
};

}  // namespace fluvial
