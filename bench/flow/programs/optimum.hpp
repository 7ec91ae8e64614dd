// SPDX-License-Identifier: Apache-2.0
/// The shortest time in which ranks can run a few tasks: no code of Fluvial.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace optimum {

struct Task {
    int width;
    double seconds;
};

/// When the last task ends if each, in this order, begins as early as it can beside those before
/// it.
inline double end_of(const std::vector<Task>& tasks, const std::vector<std::size_t>& order,
                     int ranks) {
    struct Placed {
        double begin, end;
        int width;
    };
    constexpr double least = 1e-12;
    std::vector<Placed> placed;
    double last = 0;
    for (const std::size_t number : order) {
        const auto [width, seconds] = tasks[number];
        const auto fits_at = [&](double at) {
            const int busy =
                std::accumulate(placed.begin(), placed.end(), 0, [&](int sum, const Placed& one) {
                    return one.begin <= at + least && one.end > at + least ? sum + one.width : sum;
                });
            return busy + width <= ranks;
        };
        const auto fits_from = [&](double begin) {
            return fits_at(begin) && std::ranges::all_of(placed, [&](const Placed& one) {
                       return one.begin <= begin || one.begin >= begin + seconds - least ||
                              fits_at(one.begin);
                   });
        };
        double begin = fits_from(0) ? 0 : last;
        for (const Placed& one : placed) {
            if (one.end < begin && fits_from(one.end)) {
                begin = one.end;
            }
        }
        placed.push_back({begin, begin + seconds, width});
        last = std::max(last, begin + seconds);
    }
    return last;
}

/// Of all schedules, by trying all orders of the tasks that leave ranks over; those as wide as all
/// ranks run alone. 0 where there are too many.
inline double seconds(const std::vector<Task>& tasks, int ranks) {
    constexpr std::size_t most = 9;
    std::vector<Task> narrow;
    double alone = 0;
    for (const Task& task : tasks) {
        if (task.width == ranks) {
            alone += task.seconds;
        } else {
            narrow.push_back(task);
        }
    }
    if (narrow.size() > most) {
        return 0;
    }
    std::vector<std::size_t> order(narrow.size());
    std::iota(order.begin(), order.end(), 0U);
    double best = end_of(narrow, order, ranks);
    while (std::next_permutation(order.begin(), order.end())) {
        best = std::min(best, end_of(narrow, order, ranks));
    }
    return alone + best;
}

}  // namespace optimum
