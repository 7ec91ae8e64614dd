// SPDX-License-Identifier: Apache-2.0
/// JSON (RFC 8259) as values of C++, and errors that name the place in the text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fluvial {

class Json {
  public:
    using List = std::vector<Json>;
    using Members = std::vector<std::pair<std::string, Json>>;  ///< in the order of the text
    using Value = std::variant<std::nullptr_t, bool, double, std::string, List, Members>;

    Json() = default;
    Json(Value value, std::size_t line) : value_(std::move(value)), line_(line) {}

    /// The line of the text, from 1, on which the value begins.
    std::size_t line() const { return line_; }
    /// The member of this name; null where there is none, or where this is no object.
    const Json* find(std::string_view name) const;

    /// These throw InvalidArgument, which says that `what` is wrong and in which line, for a value
    /// of another type.
    double number(const std::string& what) const;
    bool boolean(const std::string& what) const;
    const std::string& string(const std::string& what) const;
    const List& list(const std::string& what) const;
    const Members& members(const std::string& what) const;

  private:
    template <class T>
    const T& as(const std::string& what, const char* allowed) const;

    Value value_ = nullptr;
    std::size_t line_ = 0;
};

/// Throws InvalidArgument, which names line and column, for a text that is not JSON, is nested
/// deeper than 64 times, or has a name twice in one object.
Json parse_json(std::string_view text);

}  // namespace fluvial
