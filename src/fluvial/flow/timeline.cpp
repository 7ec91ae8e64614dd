// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/timeline.hpp"

#include <algorithm>

namespace fluvial::flow {

namespace {

/// 48 bytes each: 100 MB at the most in a pool of few thousand ranks.
constexpr std::size_t events_of_all_max = 2'000'000;
constexpr std::size_t events_of_one_min = 200;
constexpr std::size_t events_of_one_max = 20'000;

}  // namespace

Timeline::Timeline(std::vector<std::int64_t> clock_offsets_ns)
    : clock_offsets_ns_(std::move(clock_offsets_ns)),
      ranks_(clock_offsets_ns_.size(),
             Trace(std::clamp(events_of_all_max / clock_offsets_ns_.size(), events_of_one_min,
                              events_of_one_max))) {}

int Timeline::number_of(const std::string& kind) {
    const auto [found, is_new] = numbers_.emplace(kind, static_cast<int>(kinds_.size()));
    if (is_new) {
        kinds_.push_back(kind);
    }
    return found->second;
}

void Timeline::add(const std::string& kind, int from, const std::vector<int>& team,
                   std::int64_t began_ns, double took_s) {
    const int number = number_of(kind);
    const std::int64_t begin_ns = began_ns + clock_offsets_ns_[static_cast<std::size_t>(from)];
    const std::int64_t end_ns = begin_ns + static_cast<std::int64_t>(took_s * 1e9);
    for (const int rank : team) {
        ranks_[static_cast<std::size_t>(rank)].add(Activity::Processing, number, begin_ns, end_ns);
    }
    ++tasks_;
    busy_s_ += took_s * static_cast<double>(team.size());
}

}  // namespace fluvial::flow
