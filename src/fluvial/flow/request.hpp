// SPDX-License-Identifier: Apache-2.0
/// What the scheduler knows of a task: how many ranks it wants, where, how urgent it is, and how
/// long it may take. Not what it computes.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace fluvial::flow {

/// Number of a task in its pool, in the order of submission; never used twice.
using TaskId = std::uint64_t;

/// A time that is not known.
inline constexpr double unknown_s = std::numeric_limits<double>::quiet_NaN();

/// How many ranks a task can run on: one number, a range, or one of several numbers. A task with
/// more than one width is moldable: the scheduler chooses when it starts.
struct Widths {
    int least = 1;
    int most = 1;
    std::vector<int> choices = {};  ///< ascending, from least to most; empty: all between them

    bool moldable() const { return least != most; }
    /// The largest that is at most `ranks`; 0 when there is none.
    int up_to(int ranks) const;
    auto operator<=>(const Widths&) const = default;
};

/// Where a task should run: on a team with this rank in it, or on the rank's host. A strict wish is
/// waited for; any other gives way when the place is busy.
struct Near {
    int rank = 0;
    bool anywhere_on_host = false;
    bool strict = false;
    auto operator<=>(const Near&) const = default;
};

/// What a task wants of a host, all of whose ranks then are on that host.
struct Needs {
    bool exclusive = false;            ///< no other task runs there meanwhile
    std::vector<double> amounts = {};  ///< of each resource that hosts have; empty: none

    bool any() const { return exclusive || !amounts.empty(); }
    auto operator<=>(const Needs&) const = default;
};

struct Request {
    TaskId task = 0;
    Widths widths = {};
    double priority = 0;        ///< higher ones first
    double cost_s = unknown_s;  ///< the caller's estimate of its duration
    std::uint32_t kind = 0;  ///< tasks of one kind take alike long, or as much off their estimate
    std::optional<Near> near = {};
    Needs needs = {};
    int avoid = -1;  ///< a rank that it should not run on again, where there is a choice
    /// It is not sent ahead: its time counts from when its ranks have it, say.
    bool at_once = false;
};

}  // namespace fluvial::flow
