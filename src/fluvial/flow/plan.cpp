// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <random>

namespace fluvial::flow {

namespace {

using Sequence = std::vector<std::uint32_t>;

/// Tasks of one width, in their order.
struct Lane {
    int width = 0;
    std::vector<std::uint32_t> places;  ///< in the order of all
    std::size_t next = 0;

    bool done() const { return next == places.size(); }
};

class ListSchedule {
  public:
    ListSchedule(std::span<const Planned> tasks, int idle, std::span<const Busy> busy)
        : tasks_(tasks), idle_(idle), busy_(busy) {
        std::map<int, std::size_t> lanes;
        for (const Planned& task : tasks) {
            lanes.emplace(task.width, 0);
        }
        for (auto& [width, lane] : lanes) {
            lane = lanes_.size();
            lanes_.push_back({width, {}, 0});
        }
        for (const Planned& task : tasks) {
            lane_of_.push_back(lanes[task.width]);
        }
    }

    std::size_t steps() const { return tasks_.size() * (lanes_.size() + 1); }

    double makespan_s(std::span<const std::uint32_t> order) {
        fill_lanes(order);
        ends_ = {};
        for (const Busy& busy : busy_) {
            ends_.push({busy.left_s, busy.ranks});
        }
        int idle = idle_;
        double now = 0;
        double last = 0;
        while (true) {
            while (Lane* const lane = first_that_fits(idle)) {
                const Planned& task = tasks_[order[lane->places[lane->next++]]];
                idle -= task.width;
                last = std::max(last, now + task.cost_s);
                ends_.push({now + task.cost_s, task.width});
            }
            if (ends_.empty()) {
                return last;
            }
            now = ends_.top().at_s;
            while (!ends_.empty() && ends_.top().at_s <= now) {
                idle += ends_.top().ranks;
                ends_.pop();
            }
        }
    }

  private:
    struct End {
        double at_s;
        int ranks;
        bool operator<(const End& other) const { return at_s > other.at_s; }  // the first on top
    };

    void fill_lanes(std::span<const std::uint32_t> order) {
        for (Lane& lane : lanes_) {
            lane.places.clear();
            lane.next = 0;
        }
        for (std::uint32_t place = 0; place < order.size(); ++place) {
            lanes_[lane_of_[order[place]]].places.push_back(place);
        }
    }
    Lane* first_that_fits(int idle) {
        Lane* first = nullptr;
        for (Lane& lane : lanes_) {
            if (lane.width > idle) {
                break;
            }
            if (!lane.done() &&
                (first == nullptr || lane.places[lane.next] < first->places[first->next])) {
                first = &lane;
            }
        }
        return first;
    }

    std::span<const Planned> tasks_;
    int idle_;
    std::span<const Busy> busy_;
    std::vector<Lane> lanes_;  ///< narrow ones first
    std::vector<std::size_t> lane_of_;
    std::priority_queue<End> ends_;
};

Sequence best_of_simple_orders(std::span<const Planned> tasks, ListSchedule& schedule,
                               double& best) {
    Sequence as_given(tasks.size());
    std::iota(as_given.begin(), as_given.end(), 0U);
    const auto sorted = [&](auto key) {
        Sequence order = as_given;
        std::ranges::stable_sort(order, std::greater(),
                                 [&](std::uint32_t task) { return key(tasks[task]); });
        return order;
    };
    const Sequence orders[] = {
        sorted([](const Planned& task) { return task.cost_s; }),
        sorted([](const Planned& task) { return std::pair(task.width, task.cost_s); }),
        sorted([](const Planned& task) { return task.width * task.cost_s; }), as_given};
    const Sequence* found = nullptr;
    for (const Sequence& order : orders) {
        const double end = schedule.makespan_s(order);
        if (found == nullptr || end < best) {
            best = end;
            found = &order;
        }
    }
    return *found;
}

}  // namespace

double bound_s(std::span<const Planned> tasks, int idle, std::span<const Busy> busy) {
    std::map<int, double, std::greater<>> work_of;  // rank-seconds by width, wide ones first
    double longest = 0;
    for (const Planned& task : tasks) {
        work_of[task.width] += task.width * task.cost_s;
        longest = std::max(longest, task.cost_s);
    }
    int ranks = idle;
    double busy_work = 0;
    for (const Busy& one : busy) {
        busy_work += one.ranks * one.left_s;
        ranks += one.ranks;
    }
    double bound = longest;
    double work = 0;
    int step = 0;
    for (const auto& [width, own] : work_of) {
        work += own;
        step = std::gcd(step, width);
        const int usable = ranks / step * step;
        if (usable > 0) {
            bound = std::max(bound, work / usable);
        }
    }
    return ranks > 0 ? std::max(bound, (work + busy_work) / ranks) : bound;
}

double makespan_s(std::span<const Planned> tasks, std::span<const std::uint32_t> order, int idle,
                  std::span<const Busy> busy) {
    return ListSchedule(tasks, idle, busy).makespan_s(order);
}

Plan plan_order(std::span<const Planned> tasks, int idle, std::span<const Busy> busy,
                std::uint64_t effort) {
    if (tasks.empty()) {
        return {};
    }
    constexpr double good_enough = 1.0005;
    // Moves of one task are about n² many: so many times that without a gain, and the search is in
    // a local minimum.
    const std::uint64_t patience = 20 * tasks.size() * tasks.size();
    ListSchedule schedule(tasks, idle, busy);
    double best = 0;
    Sequence order = best_of_simple_orders(tasks, schedule, best);
    const double goal = bound_s(tasks, idle, busy) * good_enough;
    std::minstd_rand random(1);
    const auto some_place = [&] { return static_cast<std::ptrdiff_t>(random() % order.size()); };
    Sequence found = order;
    double current = best;
    std::uint64_t moves = 0;  // since the last gain
    for (std::uint64_t steps = 0; steps < effort && best > goal; steps += schedule.steps()) {
        if (++moves > patience) {
            std::ranges::shuffle(order, random);
            current = schedule.makespan_s(order);
            moves = 0;
        }
        Sequence tried = order;
        const auto from = tried.begin() + some_place();
        const auto to = tried.begin() + some_place();
        if (random() % 2 == 0) {
            std::iter_swap(from, to);
        } else if (from < to) {
            std::rotate(from, from + 1, to + 1);
        } else {
            std::rotate(to, from, from + 1);
        }
        const double end = schedule.makespan_s(tried);
        if (end > current) {
            continue;
        }
        moves = end < current ? 0 : moves;
        current = end;
        order = std::move(tried);
        if (end < best) {
            best = end;
            found = order;
        }
    }
    return {std::move(found), best <= goal};
}

}  // namespace fluvial::flow
