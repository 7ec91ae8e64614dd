// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tuned_way.hpp"

namespace fluvial::move {

TunedWay::TunedWay(std::atomic<Last>& last, std::uint64_t settling_bytes, double worth_it)
    : last_(last),
      settling_bytes_(settling_bytes),
      worth_it_(worth_it),
      began_second_(last.load(std::memory_order_relaxed) == Last::Second),
      trial_from_(last.load(std::memory_order_relaxed) == Last::Unknown ? 0 : first_rest_bytes) {}

bool TunedWay::second() const {
    return trial_ ? trial_->way() == 1 : began_second_;
}

void TunedWay::came_to(std::uint64_t committed, std::int64_t now_ns) {
    if (committed == committed_ && said_ns_ != 0) {
        return;  // the same element again, which found no room
    }
    const bool was_second = second();
    if (!trial_ && committed >= trial_from_) {
        trial_.emplace(
            TrialRules{.round = round_bytes, .rounds = rounds, .rest = {rest_bytes, rest_bytes}});
        settled_at_ = committed + settling_bytes_;
    } else if (trial_ && committed_ >= settled_at_) {
        const bool tried = trial_->tries();
        const double cost = static_cast<double>(now_ns - said_ns_) * (was_second ? worth_it_ : 1);
        trial_->took(static_cast<std::int64_t>(committed - committed_), cost);
        if (tried && !trial_->tries()) {
            last_.store(second() ? Last::Second : Last::First, std::memory_order_relaxed);
        }
    }
    if (second() != was_second) {
        settled_at_ = committed + settling_bytes_;
    }
    committed_ = committed;
    said_ns_ = now_ns;
}

}  // namespace fluvial::move
