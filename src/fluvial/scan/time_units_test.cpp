// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/time_units.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::scan;

namespace {

std::optional<TimeUnits> units(const std::string& said, const std::string& calendar = "") {
    Attributes attributes = {{"units", said}};
    if (!calendar.empty()) {
        attributes["calendar"] = calendar;
    }
    return TimeUnits::of(attributes);
}

/// What `value` in the first units is in the second ones.
double translated(double value, const std::string& from, const std::string& to,
                  const std::string& calendar = "") {
    return units(from, calendar)->in(*units(to, calendar), value);
}

}  // namespace

TEST_CASE("numbers that count from another day, or by another unit") {
    CHECK(translated(0, "days since 2000-03-01", "days since 2000-01-01") == 60);
    CHECK(translated(0.5, "days since 2001-02-01", "days since 2001-01-01") == 31.5);
    CHECK(translated(36, "hours since 2000-01-01", "days since 2000-01-01") == 1.5);
    CHECK(translated(1, "days since 1970-01-02", "seconds since 1970-01-01") == 172800);
    CHECK(translated(7, "Hours since 1900-1-1 06:30:00", "hours since 1900-01-01") == 13.5);
    CHECK(translated(0, "days since 1900-03-01", "days since 1900-02-28") == 1);
    CHECK(translated(0, "d since 2000-03-01", "day since 2000-02-28") == 2);
    CHECK(translated(1, "seconds since 2000-01-01 00:00:00.25", "msec since 2000-01-01") == 1250);
}

TEST_CASE("calendars have days of their own") {
    const std::string march = "days since 2000-03-01", february = "days since 2000-02-28";
    CHECK(translated(0, march, february, "noleap") == 1);
    CHECK(translated(0, march, february, "365_day") == 1);
    CHECK(translated(0, "days since 1900-03-01", "days since 1900-02-28", "all_leap") == 2);
    CHECK(translated(0, march, february, "360_day") == 3);
    CHECK(translated(0, "days since 1900-03-01", "days since 1900-02-28", "julian") == 2);
    CHECK(translated(0, "days since 1582-10-15", "days since 1582-10-04") == 1);
    CHECK(translated(0, "days since 1582-10-15", "days since 1582-10-04", "proleptic_gregorian") ==
          11);
    CHECK(translated(0, "hours since 1-1-1", "hours since 0001-01-02", "standard") == -24);
    // 1-1-1 of the mixed calendar is two days before that of the Gregorian one.
    CHECK(translated(0, "days since 1970-01-01", "days since 0001-01-01") == 719164);
    CHECK(translated(0, "days since 1970-01-01", "days since 0001-01-01", "proleptic_gregorian") ==
          719162);
}

TEST_CASE("how long a unit is, with a date and without") {
    CHECK(seconds_of_unit("days since 2000-1-1") == 86400);
    CHECK(seconds_of_unit("Hours") == 3600);
    CHECK(seconds_of_unit("s") == 1);
    CHECK(seconds_of_unit("ms") == 1e-3);
    CHECK(seconds_of_unit("fs") == 1e-15);
    CHECK(seconds_of_unit("µs") == 1e-6);
    CHECK(seconds_of_unit("mins") == 60);
    CHECK(seconds_of_unit("attoseconds") == 1e-18);
    for (const std::string units : {"", "m", "F", "PS", "ds", "hs", "months since 2000-1-1", "K"}) {
        CAPTURE(units);
        CHECK_FALSE(seconds_of_unit(units));
    }
}

TEST_CASE("times of other zones") {
    const std::string zulu = "hours since 2000-01-01T00:00Z";
    CHECK(translated(0, "hours since 2000-01-01 00:00 +02:00", zulu) == -2);
    CHECK(translated(0, "hours since 2000-01-01 00:00:00 -5", zulu) == 5);
    CHECK(translated(0, "hours since 2000-01-01 00:00:00 UTC", zulu) == 0);
}

TEST_CASE("what counts no time, or not by units of one length") {
    for (const char* said :
         {"", "K", "days", "days since", "days since yesterday", "days since 2000-13-01",
          "days since 2000-01-00", "months since 2000-01-01", "years since 2000-01-01",
          "days since -1-01-01", "days since 2000-01-01 x", "days since 2000-01-01 00:00 CET",
          "days after 2000-01-01"}) {
        CHECK_MESSAGE(!units(said), said);
    }
    CHECK_FALSE(units("days since 2000-01-01", "martian"));
    CHECK_FALSE(TimeUnits::of({{"units", std::int64_t{1}}}));
}

TEST_CASE("which of them fit") {
    const std::string said = "days since 2000-01-01", old = "days since 1500-01-01";
    CHECK(units(said)->fits(*units(old, "gregorian")));
    CHECK(units(said, "standard")->fits(*units(said, "proleptic_gregorian")));
    CHECK_FALSE(units(old, "standard")->fits(*units(said, "proleptic_gregorian")));
    CHECK_FALSE(units(said, "noleap")->fits(*units(said)));
    CHECK(units(said, "noleap")->fits(*units(old, "365_day")));
}
