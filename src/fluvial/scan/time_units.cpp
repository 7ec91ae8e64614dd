// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/time_units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

namespace fluvial::scan {
namespace {

constexpr std::int64_t second = 1'000'000, minute = 60 * second, hour = 60 * minute,
                       day = 24 * hour;
constexpr std::int64_t first_gregorian_day = 2299161;  ///< 1582-10-15

template <class Value, std::size_t count>
using Names = std::array<std::pair<std::string_view, Value>, count>;

constexpr Names<Calendar, 10> calendars = {{{"", Calendar::Standard},
                                            {"standard", Calendar::Standard},
                                            {"gregorian", Calendar::Standard},
                                            {"proleptic_gregorian", Calendar::Gregorian},
                                            {"julian", Calendar::Julian},
                                            {"noleap", Calendar::NoLeap},
                                            {"365_day", Calendar::NoLeap},
                                            {"all_leap", Calendar::AllLeap},
                                            {"366_day", Calendar::AllLeap},
                                            {"360_day", Calendar::Days360}}};
/// In the singular; those of one letter have no plural.
constexpr Names<std::int64_t, 15> units = {{{"microsecond", 1},
                                            {"microsec", 1},
                                            {"millisecond", second / 1000},
                                            {"millisec", second / 1000},
                                            {"msec", second / 1000},
                                            {"second", second},
                                            {"sec", second},
                                            {"s", second},
                                            {"minute", minute},
                                            {"min", minute},
                                            {"hour", hour},
                                            {"hr", hour},
                                            {"h", hour},
                                            {"day", day},
                                            {"d", day}}};

/// Beside those, in seconds. Those of one and two letters have no plural, and no capitals.
constexpr Names<double, 11> units_of_si = {{{"ms", 1e-3},
                                            {"us", 1e-6},
                                            {"µs", 1e-6},
                                            {"ns", 1e-9},
                                            {"ps", 1e-12},
                                            {"fs", 1e-15},
                                            {"as", 1e-18},
                                            {"nanosecond", 1e-9},
                                            {"picosecond", 1e-12},
                                            {"femtosecond", 1e-15},
                                            {"attosecond", 1e-18}}};

template <class Value, std::size_t count>
std::optional<Value> find(const Names<Value, count>& names, std::string_view name) {
    for (const auto& [known, value] : names) {
        if (known == name) {
            return value;
        }
    }
    return std::nullopt;
}

std::string lower(std::string_view words) {
    std::string out(words);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::optional<std::int64_t> length_of(std::string_view unit) {
    if (unit.size() > 2 && unit.ends_with('s')) {
        unit.remove_suffix(1);
    }
    return find(units, unit);
}

/// Days of the Julian period until a date (Richards, "Mapping time").
std::int64_t julian_day(Calendar calendar, std::int64_t year, std::int64_t month,
                        std::int64_t day_of_month) {
    const std::int64_t early = month < 3 ? 1 : 0;
    const std::int64_t years = year + 4800 - early, months = month + 12 * early - 3;
    const std::int64_t days = day_of_month + (153 * months + 2) / 5 + 365 * years + years / 4;
    const std::int64_t gregorian = days - years / 100 + years / 400 - 32045;
    const bool is_gregorian = calendar == Calendar::Gregorian ||
                              (calendar == Calendar::Standard && gregorian >= first_gregorian_day);
    return is_gregorian ? gregorian : days - 32083;
}

std::int64_t days_until(Calendar calendar, std::int64_t year, std::int64_t month,
                        std::int64_t day_of_month) {
    constexpr std::array<std::int64_t, 12> before = {0,   31,  59,  90,  120, 151,
                                                     181, 212, 243, 273, 304, 334};
    const std::int64_t in_year = before[static_cast<std::size_t>(month - 1)] + day_of_month;
    switch (calendar) {
        case Calendar::NoLeap:
            return 365 * year + in_year;
        case Calendar::AllLeap:
            return 366 * year + in_year + (month > 2 ? 1 : 0);
        case Calendar::Days360:
            return 360 * year + 30 * (month - 1) + day_of_month;
        default:
            return julian_day(calendar, year, month, day_of_month);
    }
}

/// Reads a text from its begin on.
class Words {
  public:
    explicit Words(std::string_view words) : rest_(words) { skip_blanks(); }

    bool at_end() const { return rest_.empty(); }
    bool take(char c) {
        const bool is_next = !rest_.empty() && rest_.front() == c;
        rest_.remove_prefix(is_next ? 1 : 0);
        return is_next;
    }
    bool take(std::string_view word) {
        const bool is_next = rest_.starts_with(word);
        rest_.remove_prefix(is_next ? word.size() : 0);
        return is_next;
    }
    /// A number without sign, at most `most`.
    std::optional<std::int64_t> integer(std::int64_t most) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc() || rest_.front() == '-' || value > most) {
            return std::nullopt;
        }
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }
    /// Up to the next blank.
    std::string_view word() {
        const std::string_view found = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(found.size());
        skip_blanks();
        return found;
    }
    void skip_blanks() {
        while (take(' ')) {
        }
    }
    /// The digits behind a point, as microseconds.
    std::int64_t fraction() {
        std::int64_t value = 0, digit = second / 10;
        while (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_.front())) != 0) {
            value += digit * (rest_.front() - '0');
            digit /= 10;
            rest_.remove_prefix(1);
        }
        return value;
    }

  private:
    std::string_view rest_;
};

/// "12", "12:30", "12:30:05.5", as microseconds.
std::optional<std::int64_t> clock_time(Words& words) {
    const auto hours = words.integer(24);
    if (!hours) {
        return std::nullopt;
    }
    std::int64_t time = *hours * hour;
    for (const std::int64_t unit : {minute, second}) {
        if (!words.take(':')) {
            return time;
        }
        const auto number = words.integer(60);
        if (!number) {
            return std::nullopt;
        }
        time += *number * unit;
    }
    return words.take('.') ? time + words.fraction() : time;
}

/// "2000-1-1", "2000-01-01T12:00Z", "2000-01-01 00:00:00 +01:00", as microseconds.
std::optional<std::int64_t> instant(Calendar calendar, Words words) {
    const auto year = words.integer(99'999);
    const auto month = year && words.take('-') ? words.integer(12) : std::nullopt;
    const auto day_of_month = month && words.take('-') ? words.integer(31) : std::nullopt;
    if (!day_of_month || *month < 1 || *day_of_month < 1) {
        return std::nullopt;
    }
    std::int64_t time = days_until(calendar, *year, *month, *day_of_month) * day;
    words.take('t');
    words.skip_blanks();
    if (words.at_end()) {
        return time;
    }
    const auto of_day = clock_time(words);
    if (!of_day) {
        return std::nullopt;
    }
    time += *of_day;
    words.skip_blanks();
    const bool ahead = words.take('+'), behind = !ahead && words.take('-');
    if (ahead || behind) {
        const auto zone = clock_time(words);
        if (!zone) {
            return std::nullopt;
        }
        time -= ahead ? *zone : -*zone;
    } else if (!words.take('z')) {
        words.take("utc");
    }
    words.skip_blanks();
    return words.at_end() ? std::optional(time) : std::nullopt;
}

}  // namespace

std::optional<TimeUnits> TimeUnits::of(const Attributes& attributes) {
    const std::string said = lower(text_of(attributes, "units"));
    Words words(said);
    const auto unit = length_of(words.word());
    const auto calendar = find(calendars, lower(text_of(attributes, "calendar")));
    if (!unit || !calendar || words.word() != "since") {
        return std::nullopt;
    }
    const auto since = instant(*calendar, words);
    return since ? std::optional(TimeUnits{*calendar, *unit, *since}) : std::nullopt;
}

bool TimeUnits::fits(const TimeUnits& other) const {
    const auto is_gregorian = [](const TimeUnits& one) {
        return one.calendar == Calendar::Gregorian ||
               (one.calendar == Calendar::Standard && one.since >= first_gregorian_day * day);
    };
    return calendar == other.calendar || (is_gregorian(*this) && is_gregorian(other));
}

double TimeUnits::in(const TimeUnits& other, double value) const {
    const auto shift = static_cast<double>(since - other.since);
    if (unit == other.unit) {
        return value + shift / static_cast<double>(unit);
    }
    return (value * static_cast<double>(unit) + shift) / static_cast<double>(other.unit);
}

std::optional<double> seconds_of_unit(const std::string& units) {
    const std::string_view word = Words(units).word();
    const bool is_short = word.size() < 3;
    const std::string name = is_short ? std::string(word) : lower(word);
    if (const auto microseconds = length_of(name)) {
        return static_cast<double>(*microseconds) / static_cast<double>(second);
    }
    const bool plural = !is_short && name.ends_with('s') && name.size() > 3;
    return find(units_of_si, std::string_view(name).substr(0, name.size() - (plural ? 1 : 0)));
}

}  // namespace fluvial::scan
