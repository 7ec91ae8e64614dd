// SPDX-License-Identifier: Apache-2.0
/// Which way of copying is fastest into memory that another core reads. It depends on where the
/// two cores are, which on virtual machines changes while a program runs: ordinary stores between
/// cores that share a cache, non-temporal ones (up to ten times faster then) between cores that do
/// not. So both are tried out again and again.
///
/// That is no Trial (base/trial.hpp), which compares what rounds of work have cost. Here a method
/// shows its cost only once all of the memory has been written by it, a round may cost hundreds of
/// times what it should and is broken off in the middle, and how long the rest is depends on the
/// time that the trial has cost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluvial/move/copy_methods.hpp"

namespace fluvial::move {

/// Which method was best when that was last found out, so that streams that live for milliseconds
/// need not find out anew.
using LastChoice = std::atomic<std::size_t>;
/// The choice of this process; at first the last method.
LastChoice& last_choice();

/// Copies, and tries the other method now and then, each for some bytes. What counts is the time
/// from copy to copy: it has in it what the method does to the caches and to the consumer, which
/// then makes room sooner or later. Gaps that no copying explains are cut off. A trial that goes
/// badly is broken off; trials take less than 2 % of the time, so the cheaper they are the more
/// often they come.
class CopyPolicy {
  public:
    /// `methods`: two at most. The first to be taken is `last`, which learns of every change. A
    /// method counts once it has copied `lap_bytes`: so much memory is used in turn. `clock_ns`
    /// never goes back.
    CopyPolicy(std::vector<CopyMethod> methods, LastChoice& last, std::uint64_t lap_bytes,
               std::int64_t (*clock_ns)());

    void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        if (phase_ == Phase::Rest) {
            methods_[chosen_].copy(to, from, bytes);
        } else {
            copy_timed(to, from, bytes);
        }
        bytes_ += bytes;
        if (bytes_ >= phase_bytes_) {
            next_phase();
        }
    }
    /// Whether an ordinary store is as good as copy(). False now and then for as long as a trial
    /// takes, so that one comes about even where nothing needs to be copied.
    bool stores_are_best() const {
        return chosen_ == 0 && phase_ == Phase::Rest && clock_ns_() < rest_until_ns_;
    }
    /// The method in use, but for trials.
    const CopyMethod& chosen() const { return methods_[chosen_]; }

  private:
    enum class Phase { Rest, Chosen, Settle, Other };

    void copy_timed(std::byte* to, const std::byte* from, std::size_t bytes);
    double expected_ns(std::uint64_t bytes) const;
    void next_phase();
    bool is_due();
    void go_on();
    void enter(Phase phase, std::uint64_t bytes);
    void rest(bool changed);

    std::vector<CopyMethod> methods_;
    LastChoice& last_;
    std::uint64_t lap_bytes_;
    std::int64_t (*clock_ns_)();
    std::size_t chosen_;
    Phase phase_ = Phase::Rest;
    std::uint64_t bytes_ = 0;  ///< since the phase began
    std::uint64_t phase_bytes_;
    std::int64_t spent_ns_ = 0;
    std::int64_t last_ns_ = 0;  ///< end of the last copy
    double chosen_ns_per_byte_ = 0;
    int trials_ = 0;
    std::int64_t trial_since_ns_ = 0;  ///< when the other method was first taken
    double before_ns_per_byte_ = 0;    ///< of the trial before
    std::uint64_t tried_bytes_ = 0;    ///< by the other method in this trial, before this phase
    std::int64_t tried_ns_ = 0;
    std::int64_t rest_until_ns_ = 0;
    int alarms_ = 0;             ///< phases in a row that were slow
    std::int64_t early_ns_ = 0;  ///< not before, even then
};

}  // namespace fluvial::move
