// SPDX-License-Identifier: Apache-2.0
/// In which order tasks of known width and duration are best started: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fluvial::flow {

/// A task that waits, as the plan sees it.
struct Planned {
    int width = 1;
    double cost_s = 0;
};

/// Ranks that are still at work, and for how long.
struct Busy {
    double left_s = 0;
    int ranks = 0;
};

/// When the last task ends if, whenever ranks are idle, the first tasks of `order` that fit are
/// started (list scheduling). O(tasks · (widths + log tasks)).
double makespan_s(std::span<const Planned> tasks, std::span<const std::uint32_t> order, int idle,
                  std::span<const Busy> busy);

/// No schedule ends earlier: all ranks are busy all the time; the longest task has to end; and
/// tasks at least this wide, of widths that are multiples of some number, leave ranks over.
double bound_s(std::span<const Planned> tasks, int idle, std::span<const Busy> busy);

struct Plan {
    std::vector<std::uint32_t> order;
    bool cannot_be_better = true;  ///< by a two-thousandth or more
};

/// The order with the least makespan that a search finds: it begins with the best of longest first,
/// widest first, largest first and the order given, and moves single tasks as long as that does no
/// harm; from a local minimum it goes on with a random order. Gives up after `effort` steps of list
/// scheduling, or when no order can be better. The same arguments always give the same plan.
Plan plan_order(std::span<const Planned> tasks, int idle, std::span<const Busy> busy,
                std::uint64_t effort);

}  // namespace fluvial::flow
