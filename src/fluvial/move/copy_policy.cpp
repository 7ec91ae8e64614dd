// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/copy_policy.hpp"

#include <algorithm>
#include <limits>

namespace fluvial::move {

namespace {

/// The bytes of a trial, and of one measurement.
constexpr std::uint64_t trial_bytes = std::uint64_t{1} << 20;
/// Rest is so many times longer than what the trial cost.
constexpr std::int64_t rest_factor = 60;
constexpr std::int64_t rest_min_ns = 2'000'000;
constexpr std::int64_t rest_max_ns = 160'000'000;
/// When copying becomes so much slower a trial comes early.
constexpr double alarm = 2.5;
constexpr int alarms_needed = 2;
constexpr std::int64_t early_factor = 20;
/// Going past the caches gains a factor of two to five where it gains, so less is taken for chance;
/// its trial is broken off when it is so many times slower.
constexpr double streamed_gain = 0.7;
constexpr double streamed_patience = 1.5;
constexpr double streamed_patience_ns = 50'000;
/// For ordinary stores, lines that were written past the caches must first come back into them.
/// So this method has several trials, as long as these get faster or are not hopeless.
constexpr std::uint64_t laps_to_warm_up = 8;
constexpr double cached_gain = 0.9;
constexpr double cached_patience = 4;
constexpr double cached_patience_ns = 100'000;
constexpr int cached_trials = 8;
constexpr double hopeless = 2;
constexpr double faster = 0.85;
constexpr std::int64_t gap_max_ns = 100'000;

}  // namespace

LastChoice& last_choice() {
    static LastChoice last{copy_methods().size() - 1};
    return last;
}

CopyPolicy::CopyPolicy(std::vector<CopyMethod> methods, LastChoice& last, std::uint64_t lap_bytes,
                       std::int64_t (*clock_ns)())
    : methods_(std::move(methods)),
      last_(last),
      lap_bytes_(lap_bytes),
      clock_ns_(clock_ns),
      chosen_(std::min(last.load(std::memory_order_relaxed), methods_.size() - 1)),
      phase_bytes_(std::max(trial_bytes, (chosen_ == 0 ? laps_to_warm_up : 1) * lap_bytes)) {}

void CopyPolicy::copy_timed(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t method = phase_ == Phase::Chosen ? chosen_ : 1 - chosen_;
    methods_[method].copy(to, from, bytes);
    const std::int64_t now = clock_ns_();
    spent_ns_ += std::min(now - last_ns_, gap_max_ns);
    last_ns_ = now;
    if (phase_ == Phase::Chosen) {
        return;
    }
    const double expected = expected_ns(tried_bytes_ + bytes_ + bytes);
    const double most = chosen_ == 0 ? streamed_patience * expected + streamed_patience_ns
                                     : cached_patience * expected + cached_patience_ns;
    if (static_cast<double>(tried_ns_ + spent_ns_) > most) {
        rest(false);
    }
}

double CopyPolicy::expected_ns(std::uint64_t bytes) const {
    return chosen_ns_per_byte_ * static_cast<double>(bytes);
}

void CopyPolicy::next_phase() {
    switch (phase_) {
        case Phase::Rest:
            if (methods_.size() == 2 && is_due()) {
                enter(Phase::Chosen, trial_bytes);
            } else {
                enter(Phase::Rest, trial_bytes);
            }
            break;
        case Phase::Chosen:
            chosen_ns_per_byte_ = static_cast<double>(spent_ns_) / static_cast<double>(bytes_);
            trials_ = 0;
            tried_bytes_ = 0;
            tried_ns_ = 0;
            before_ns_per_byte_ = std::numeric_limits<double>::max();
            enter(Phase::Settle, lap_bytes_);
            trial_since_ns_ = last_ns_;
            break;
        case Phase::Settle:
            go_on();
            break;
        case Phase::Other: {
            const double ns_per_byte = static_cast<double>(spent_ns_) / static_cast<double>(bytes_);
            const double gain = chosen_ == 0 ? streamed_gain : cached_gain;
            const bool better = ns_per_byte < gain * chosen_ns_per_byte_;
            const bool over = chosen_ == 0 || trials_ == cached_trials ||
                              (ns_per_byte > hopeless * chosen_ns_per_byte_ &&
                               ns_per_byte > faster * before_ns_per_byte_);
            before_ns_per_byte_ = ns_per_byte;
            if (better || over) {
                rest(better);
            } else {
                go_on();
            }
            break;
        }
    }
}

/// The other method is timed once more.
void CopyPolicy::go_on() {
    ++trials_;
    tried_bytes_ += bytes_;
    tried_ns_ += spent_ns_;
    enter(Phase::Other, trial_bytes);
}

bool CopyPolicy::is_due() {
    const std::int64_t now = clock_ns_();
    if (now >= rest_until_ns_) {
        return true;
    }
    const bool slow = static_cast<double>(now - last_ns_) > alarm * expected_ns(bytes_);
    alarms_ = slow ? alarms_ + 1 : 0;
    return alarms_ >= alarms_needed && now >= early_ns_;
}

void CopyPolicy::enter(Phase phase, std::uint64_t bytes) {
    phase_ = phase;
    phase_bytes_ = bytes;
    bytes_ = 0;
    spent_ns_ = 0;
    last_ns_ = clock_ns_();
}

void CopyPolicy::rest(bool changed) {
    const std::int64_t now = clock_ns_();
    const double expected = expected_ns(tried_bytes_ + bytes_);
    const auto cost = std::max<std::int64_t>(
        0, now - trial_since_ns_ - static_cast<std::int64_t>(std::min(expected, 1e9)));
    if (changed) {
        chosen_ = 1 - chosen_;
        last_.store(chosen_, std::memory_order_relaxed);
        chosen_ns_per_byte_ = static_cast<double>(spent_ns_) / static_cast<double>(bytes_);
    }
    rest_until_ns_ = now + std::clamp(rest_factor * cost, rest_min_ns, rest_max_ns);
    early_ns_ = now + std::clamp(early_factor * cost, rest_min_ns, rest_max_ns);
    alarms_ = 0;
    enter(Phase::Rest, trial_bytes);
}

}  // namespace fluvial::move
