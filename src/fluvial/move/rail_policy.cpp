// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rail_policy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fluvial::move {
namespace {

/// One rail must be so much faster to be taken alone: the others would help when it becomes slower.
constexpr double gain_needed = 0.95;
constexpr int tries_of_each = 5;
constexpr int pause_min = 32;
constexpr int pause_max = 1024;
/// Single reads take twice as long as others now and then, so the median counts.
constexpr TrialRules rules{.round = 1,
                           .rounds = 2 * tries_of_each,
                           .rest = {pause_min, pause_min},
                           .second_cost = {},
                           .judges = TrialJudges::Median,
                           .second_gain = gain_needed,
                           .rest_max = pause_max};
/// One rail has had a chance when all would have brought that part, and it was not only kept
/// waiting for a core, and is hopeless when it is so many times slower.
constexpr double chance = 0.25;
constexpr double chance_s_min = 0.010;
constexpr double clearly = 1.75;

constexpr std::size_t size_classes = 65;  ///< by the number of bits of the bytes

std::size_t size_class(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(bytes));
}

}  // namespace

RailPolicy::RailPolicy() : trials_(size_classes, Trial(rules)) {}

RailPolicy::Over RailPolicy::next(std::uint64_t bytes) const {
    return static_cast<Over>(trials_[size_class(bytes)].way());
}

bool RailPolicy::hopeless(std::uint64_t bytes, std::uint64_t brought, double seconds) const {
    const double s_per_byte = trials_[size_class(bytes)].cost(static_cast<int>(Over::All));
    if (!std::isfinite(s_per_byte)) {
        return false;
    }
    const double all_s = static_cast<double>(bytes) * s_per_byte;
    const bool had_its_chance =
        seconds > std::max((brought > 0 ? chance : clearly) * all_s, chance_s_min);
    return had_its_chance && static_cast<double>(brought) * s_per_byte * clearly < seconds;
}

void RailPolicy::took(Over over, std::uint64_t bytes, std::uint64_t brought, double seconds) {
    Trial& trial = trials_[size_class(bytes)];
    if (trial.way() != static_cast<int>(over)) {
        return;  // the rails left no choice
    }
    const double s_per_byte = seconds / static_cast<double>(std::max<std::uint64_t>(brought, 1));
    if (brought < bytes) {
        trial.broke_off(1, s_per_byte);
    } else {
        trial.took(1, s_per_byte);
    }
}

}  // namespace fluvial::move
