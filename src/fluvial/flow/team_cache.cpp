// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/team_cache.hpp"

#include <algorithm>
#include <bit>

namespace fluvial::flow {

namespace {

bool is_aligned_block(const std::vector<int>& ranks) {
    const auto width = static_cast<int>(ranks.size());
    return std::has_single_bit(ranks.size()) && ranks.front() % width == 0 &&
           ranks.back() - ranks.front() == width - 1;
}

}  // namespace

TeamCache::Use TeamCache::use(const std::vector<int>& ranks) {
    Use result;
    if (const auto found = teams_.find(ranks); found != teams_.end()) {
        if (!found->second.is_block) {
            ages_.splice(ages_.begin(), ages_, found->second.age);
        }
        result.team = found->second.number;
        return result;
    }
    Kept kept{++last_, is_aligned_block(ranks), ages_.end()};
    if (!kept.is_block) {
        for (const int rank : ranks) {
            make_room(rank, result.gone);
            ++others_[static_cast<std::size_t>(rank)];
        }
        kept.age = ages_.insert(ages_.begin(), ranks);
    }
    teams_.emplace(ranks, kept);
    result.team = kept.number;
    result.is_new = true;
    return result;
}

void TeamCache::make_room(int rank, std::vector<Gone>& gone) {
    if (others_[static_cast<std::size_t>(rank)] < others_max_) {
        return;
    }
    const auto oldest = std::find_if(
        ages_.rbegin(), ages_.rend(),
        [rank](const std::vector<int>& ranks) { return std::ranges::binary_search(ranks, rank); });
    const auto found = teams_.find(*oldest);
    for (const int other : found->first) {
        --others_[static_cast<std::size_t>(other)];
    }
    gone.push_back({found->second.number, found->first});
    ages_.erase(found->second.age);
    teams_.erase(found);
}

std::size_t TeamCache::kept_by(int rank) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        teams_, [rank](const auto& team) { return std::ranges::binary_search(team.first, rank); }));
}

}  // namespace fluvial::flow
