// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/toml.hpp"

#include <string>

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "fluvial/base/error.hpp"

namespace fluvial {
namespace {

Json json_of(const toml::node& node) {
    const std::size_t line = node.source().begin.line;
    if (const auto* const table = node.as_table()) {
        Json::Members members;
        for (const auto& [name, value] : *table) {
            members.emplace_back(std::string(name.str()), json_of(value));
        }
        return {std::move(members), line};
    }
    if (const auto* const array = node.as_array()) {
        Json::List list;
        for (const auto& value : *array) {
            list.push_back(json_of(value));
        }
        return {std::move(list), line};
    }
    if (const auto* const value = node.as_string()) {
        return {value->get(), line};
    }
    if (const auto* const value = node.as_integer()) {
        return {value->get(), line};
    }
    if (const auto* const value = node.as_floating_point()) {
        return {value->get(), line};
    }
    if (const auto* const value = node.as_boolean()) {
        return {value->get(), line};
    }
    std::string date;
    node.visit([&](const auto& value) {
        if constexpr (toml::is_chronological<decltype(value)>) {
            date = text(value.get());
        }
    });
    return {std::move(date), line};
}

}  // namespace

Json parse_toml(std::string_view said) {
    try {
        const toml::table table = toml::parse(said);
        return json_of(table);
    } catch (const toml::parse_error& error) {
        const toml::source_position& at = error.source().begin;
        throw InvalidArgument(Problem{text("not TOML in line ", at.line, ", column ", at.column),
                                      std::string(error.description()),
                                      "lines such as engine = \"hdf5\"", ""});
    }
}

}  // namespace fluvial
