// SPDX-License-Identifier: Apache-2.0
/// What the numbers of a coordinate of time count, as the CF conventions (section 4.4) say it:
/// "days since 2000-01-01 12:00" of a calendar. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fluvial/describe/attribute.hpp"

namespace fluvial::scan {

enum class Calendar : std::uint8_t {
    Standard,   ///< Julian until 1582-10-04, then Gregorian; also where the file says none
    Gregorian,  ///< "proleptic_gregorian"
    Julian,
    NoLeap,
    AllLeap,
    Days360
};

struct TimeUnits {
    Calendar calendar = Calendar::Standard;
    std::int64_t unit = 0;  ///< microseconds
    std::int64_t since =
        0;  ///< microseconds from a day that is the same in all units of a calendar

    /// The attributes `units` and `calendar`. None where they count no time, or by units that have
    /// no fixed length (months, years), or from a date that cannot be understood.
    static std::optional<TimeUnits> of(const Attributes& attributes);
    /// Whether numbers that count so can count as `other` does: both calendars have the same days.
    bool fits(const TimeUnits& other) const;
    /// The number that says in `other` what `value` says in these units; the two fit.
    double in(const TimeUnits& other, double value) const;
};

/// How many seconds one of what a coordinate counts has, whether or not it counts them from a date;
/// none of units that are not known. "fs" is 1e-15.
std::optional<double> seconds_of_unit(const std::string& units);

}  // namespace fluvial::scan
