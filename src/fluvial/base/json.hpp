// SPDX-License-Identifier: Apache-2.0
/// JSON (RFC 8259) as values of C++, and errors that name the place in the text.
#pragma once

#include <cstdint>
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
    /// A number without a fraction and an exponent is an integer where one of 64 bits holds it.
    using Value = std::variant<std::nullptr_t, bool, double, std::string, List, Members,
                               std::int64_t, std::uint64_t>;

    Json() = default;
    Json(Value value, std::size_t line) : value_(std::move(value)), line_(line) {}

    const Value& value() const { return value_; }
    /// The line of the text, from 1, on which the value begins.
    std::size_t line() const { return line_; }
    /// The member of this name; null where there is none, or where this is no object.
    const Json* find(std::string_view name) const;

    /// These throw InvalidArgument, which says that `what` is wrong and in which line, for a value
    /// of another type.
    double number(const std::string& what) const;
    std::int64_t integer(const std::string& what) const;
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

/// How strict a text is read.
enum class JsonDialect : std::uint8_t {
    Standard,
    /// As Python's module reads it, which many programs write: also NaN, Infinity and -Infinity,
    /// numbers beyond float64 (infinite), and halves of surrogate pairs (each becomes U+FFFD).
    Python
};

/// Throws InvalidArgument, which names line and column, for a text that is not JSON, is nested
/// deeper than 512 times, or has a name twice in one object.
Json parse_json(std::string_view text, JsonDialect dialect = JsonDialect::Standard);

/// On one line, with all but ASCII escaped, as Python's module writes it.
std::string text_of(const Json& json);

}  // namespace fluvial
