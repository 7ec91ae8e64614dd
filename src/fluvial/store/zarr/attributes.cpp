// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/attributes.hpp"

#include <algorithm>
#include <optional>

#include "fluvial/store/text_encoding.hpp"

namespace fluvial::store {
namespace {

template <class T>
bool is(const Json& json) {
    return std::holds_alternative<T>(json.value());
}

bool is_integer(const Json& json) {
    return is<bool>(json) || is<std::int64_t>(json) || is<std::uint64_t>(json);
}

bool is_number(const Json& json) {
    return is_integer(json) || is<double>(json);
}

std::int64_t small_integer(const Json& json) {
    const bool* const truth = std::get_if<bool>(&json.value());
    return truth != nullptr ? static_cast<std::int64_t>(*truth)
                            : std::get<std::int64_t>(json.value());
}

/// None where neither int64 nor uint64 holds all of them.
std::optional<Attribute> integers(const Json::List& list) {
    if (std::none_of(list.begin(), list.end(), is<std::uint64_t>)) {
        std::vector<std::int64_t> values;
        std::transform(list.begin(), list.end(), std::back_inserter(values), small_integer);
        return values;
    }
    std::vector<Unsigned> values;
    for (const Json& json : list) {
        const auto* const large = std::get_if<std::uint64_t>(&json.value());
        if (large == nullptr && small_integer(json) < 0) {
            return std::nullopt;
        }
        values.emplace_back(large != nullptr ? *large
                                             : static_cast<std::uint64_t>(small_integer(json)));
    }
    return values;
}

std::optional<Attribute> list_of(const Json::List& list) {
    if (std::all_of(list.begin(), list.end(), is_integer)) {
        return integers(list);
    }
    if (std::all_of(list.begin(), list.end(), is_number)) {
        std::vector<double> values;
        for (const Json& json : list) {
            values.push_back(is<bool>(json) ? static_cast<double>(small_integer(json))
                                            : json.number("a number"));
        }
        return values;
    }
    if (std::all_of(list.begin(), list.end(), is<std::string>)) {
        std::vector<std::string> values;
        for (const Json& json : list) {
            values.push_back(to_utf8(std::get<std::string>(json.value())));
        }
        return values;
    }
    return std::nullopt;
}

Attribute attribute_of_json(const Json& json) {
    std::optional<Attribute> found;
    if (const auto* const text = std::get_if<std::string>(&json.value())) {
        found = to_utf8(*text);
    } else if (const auto* const truth = std::get_if<bool>(&json.value())) {
        found = *truth;
    } else if (const auto* const integer = std::get_if<std::int64_t>(&json.value())) {
        found = *integer;
    } else if (const auto* const large = std::get_if<std::uint64_t>(&json.value())) {
        found = Unsigned(*large);
    } else if (const auto* const real = std::get_if<double>(&json.value())) {
        found = *real;
    } else if (const auto* const list = std::get_if<Json::List>(&json.value())) {
        found = list_of(*list);
    }
    return found ? *found : Attribute(text_of(json));
}

}  // namespace

Attributes attributes_of(const Json* object) {
    Attributes found;
    if (object != nullptr) {
        for (const auto& [name, value] : object->members("what holds the attributes")) {
            found.emplace(to_utf8(name), attribute_of_json(value));
        }
    }
    return found;
}

}  // namespace fluvial::store
