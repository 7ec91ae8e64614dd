// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/path_pace.hpp"

#include <algorithm>

namespace fluvial::move {

void PathPace::complete(std::size_t bytes, double now_s) {
    constexpr std::size_t marks_max = 32;
    marks_.emplace_back(now_s, marks_.back().second + bytes);
    if (marks_.size() > marks_max) {
        marks_.pop_front();
    }
}

double PathPace::bytes_per_s(double now_s) const {
    const auto [last_s, left] = marks_.back();
    const auto [middle_s, before] = marks_[(marks_.size() - 1) / 2];
    if (last_s <= middle_s) {
        return 0;
    }
    const double seen = static_cast<double>(left - before) / (last_s - middle_s);
    if (under_way() == 0) {
        return seen;
    }
    const double at_most = static_cast<double>(sent_ - before) / (now_s - middle_s);
    return std::min(seen, at_most);
}

std::size_t next_window(std::span<const PaceOfPath> paths, std::size_t which, std::size_t left,
                        std::size_t window) {
    double fastest = 0, all = 0, to_carry = static_cast<double>(left);
    for (const PaceOfPath& path : paths) {
        fastest = std::max(fastest, path.settled ? path.bytes_per_s : 0);
        all += path.bytes_per_s;
        to_carry += path.under_way;
    }
    const std::size_t whole = std::min(window, left);
    const bool all_known = std::all_of(paths.begin(), paths.end(),
                                       [](const PaceOfPath& path) { return path.bytes_per_s > 0; });
    const PaceOfPath& here = paths[which];
    if (here.bytes_per_s <= 0) {
        return whole;
    }
    const std::size_t least = std::min(window, std::max(window / shortest_part, shortest_bytes));
    std::size_t length = window;
    while (length / 2 >= least && here.bytes_per_s * 2 <= fastest) {
        length /= 2;
        fastest /= 2;
    }
    if (!all_known) {
        return std::min(length, left);
    }
    // If all paths end at the same time, each still carries what it can until then.
    const auto share_of = [&](const PaceOfPath& path) {
        return path.bytes_per_s * (to_carry / all) - path.under_way;
    };
    const double share = share_of(here);
    if (share >= static_cast<double>(length)) {
        return std::min(length, left);
    }
    if (share >= static_cast<double>(least)) {
        return std::min(static_cast<std::size_t>(share), left);
    }
    const bool most = std::none_of(paths.begin(), paths.end(),
                                   [&](const PaceOfPath& path) { return share_of(path) > share; });
    return most ? std::min(least, left) : 0;
}

}  // namespace fluvial::move
