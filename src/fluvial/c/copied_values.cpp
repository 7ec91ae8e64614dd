// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/copied_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/c/boundary.hpp"

namespace fluvial::c {
namespace {

/// Of one that is not one text.
std::string kind_of(const Attribute& attribute) {
    if (std::holds_alternative<std::vector<std::string>>(attribute)) {
        return "several texts";
    }
    return floats_of(attribute) ? "numbers" : "values that C has no type for";
}

template <class To, class From>
To number_from(From from, const char* name) {
    if constexpr (std::is_same_v<From, double>) {
        constexpr double end = 9223372036854775808.0;  // 2^63
        if (std::is_same_v<To, double> ||
            (from >= -end && from < end && from == std::trunc(from))) {
            return static_cast<To>(from);
        }
    } else if constexpr (std::is_same_v<To, double>) {
        constexpr double end = 18446744073709551616.0;  // 2^64
        const auto to = static_cast<double>(from);
        if (to < end && static_cast<From>(to) == from) {
            return to;
        }
    } else if (std::in_range<To>(from)) {
        return static_cast<To>(from);
    }
    throw OutOfRange(Problem{text("attribute '", name, "' does not fit the type asked for"),
                             text(from), std::is_same_v<To, double> ? "float64" : "int64",
                             "Ask for it as the other type"});
}

/// Calls use(numbers) with all its numbers, as they are kept. False for what is no numbers.
template <class Use>
bool visit_numbers(const Attribute& attribute, Use use) {
    return std::visit(
        [&]<class Kept>(const Kept& kept) {
            if constexpr (std::is_same_v<Kept, std::int64_t> || std::is_same_v<Kept, double>) {
                use(std::span(&kept, 1));
            } else if constexpr (std::is_same_v<Kept, std::vector<std::int64_t>> ||
                                 std::is_same_v<Kept, std::vector<double>>) {
                use(std::span(kept));
            } else if constexpr (std::is_same_v<Kept, Unsigned>) {
                const auto number = static_cast<std::uint64_t>(kept);
                use(std::span(&number, 1));
            } else if constexpr (std::is_same_v<Kept, std::vector<Unsigned>>) {
                std::vector<std::uint64_t> numbers;
                std::transform(kept.begin(), kept.end(), std::back_inserter(numbers),
                               [](Unsigned number) { return static_cast<std::uint64_t>(number); });
                use(std::span(std::as_const(numbers)));
            } else {
                return false;
            }
            return true;
        },
        attribute);
}

template <class To>
void copy_numbers(const Attribute& attribute, const char* name, std::size_t count, To* values,
                  const char* for_text) {
    const bool numbers = visit_numbers(attribute, [&](auto all) {
        check_given(values, "values");
        if (all.size() != count) {
            throw InvalidArgument(Problem{text("attribute '", name, "' has another length"),
                                          text("room for ", count), text(all.size()), ""});
        }
        std::transform(all.begin(), all.end(), values,
                       [&](auto number) { return number_from<To>(number, name); });
    });
    if (!numbers) {
        const bool one_text = std::holds_alternative<std::string>(attribute);
        throw InvalidArgument(Problem{text("attribute '", name, "' is not numeric"),
                                      one_text ? "text" : kind_of(attribute), "numbers",
                                      one_text ? text("Use ", for_text) : ""});
    }
}

}  // namespace

void copy_text(const std::string& from, std::size_t size, char* to, const char* what) {
    if (from.size() + 1 > size) {
        throw InvalidArgument(Problem{text(what, " does not fit"), text(size, " characters"),
                                      text(from.size() + 1, " or more"), ""});
    }
    std::memcpy(to, from.c_str(), from.size() + 1);
}

const Attribute& attribute_in(const Attributes& attributes, const char* name) {
    check_given(name, "name");
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        std::string names;
        for (const auto& [other, value] : attributes) {
            names += (names.empty() ? "" : ", ") + other;
        }
        throw InvalidArgument(
            Problem{"no attribute of this name", text("'", name, "'"), names, ""});
    }
    return found->second;
}

void copy_text_attribute(const Attribute& attribute, const char* name, std::size_t size,
                         char* value, const char* for_numbers) {
    check_given(value, "value");
    const auto* const string = std::get_if<std::string>(&attribute);
    if (string == nullptr) {
        const bool numbers = floats_of(attribute).has_value();
        throw InvalidArgument(Problem{text("attribute '", name, "' is not text"),
                                      kind_of(attribute), "one text",
                                      numbers ? text("Use ", for_numbers) : ""});
    }
    copy_text(*string, size, value, "the attribute");
}

void copy_number_attribute(const Attribute& attribute, const char* name, std::size_t count,
                           double* values, const char* for_text) {
    copy_numbers(attribute, name, count, values, for_text);
}

void copy_number_attribute(const Attribute& attribute, const char* name, std::size_t count,
                           long long* values, const char* for_text) {
    copy_numbers(attribute, name, count, values, for_text);
}

}  // namespace fluvial::c
