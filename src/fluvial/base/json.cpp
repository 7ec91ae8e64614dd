// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "fluvial/base/finer_errors.hpp"

namespace fluvial {
namespace {

constexpr int depth_max = 512;

class Parser {
  public:
    Parser(std::string_view text, JsonDialect dialect) : text_(text), dialect_(dialect) {}

    Json whole() {
        Json value = next(0);
        skip_blanks();
        if (at_ != text_.size()) {
            fail("the end of the text");
        }
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& allowed) const {
        const auto before = text_.substr(0, at_);
        const auto newline = before.rfind('\n');
        const auto column = newline == std::string_view::npos ? at_ + 1 : at_ - newline;
        throw InvalidArgument(
            Problem{text("not JSON in line ", line(), ", column ", column), seen(), allowed, ""});
    }
    /// What stands here, on one line.
    std::string seen() const {
        if (at_ == text_.size()) {
            return "the end of the text";
        }
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
        if (is_control(text_[at_])) {
            return text("the control character ", static_cast<int>(text_[at_]));
        }
        const std::string_view rest = text_.substr(at_, 20);
        const auto end = std::find_if(rest.begin(), rest.end(), is_control);
        return "'" + shortened(std::string_view(rest.begin(), end)) + "'";
    }
    std::size_t line() const {
        return 1 + static_cast<std::size_t>(
                       std::count(text_.begin(), text_.begin() + static_cast<long>(at_), '\n'));
    }
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) {
            return false;
        }
        at_ += word.size();
        return true;
    }
    bool take_after_blanks(std::string_view word) {
        skip_blanks();
        return take(word);
    }

    Json next(int depth) {
        skip_blanks();
        if (depth > depth_max) {
            fail(text("at most ", depth_max, " values inside of each other"));
        }
        // Lines are counted from the last one that was, since most values are near each other.
        line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<long>(counted_),
                                                     text_.begin() + static_cast<long>(at_), '\n'));
        counted_ = at_;
        const std::size_t line = line_;
        if (take("{")) {
            return {members(depth), line};
        }
        if (take("[")) {
            return {list(depth), line};
        }
        if (take("\"")) {
            return {string(), line};
        }
        if (take("true")) {
            return {true, line};
        }
        if (take("false")) {
            return {false, line};
        }
        if (take("null")) {
            return {nullptr, line};
        }
        return {number(), line};
    }
    /// NaN, Infinity or -Infinity.
    std::optional<double> no_number() {
        if (dialect_ == JsonDialect::Standard) {
            return std::nullopt;
        }
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return take("NaN")         ? std::optional(std::numeric_limits<double>::quiet_NaN())
               : take("Infinity")  ? std::optional(infinity)
               : take("-Infinity") ? std::optional(-infinity)
                                   : std::nullopt;
    }

    Json::List list(int depth) {
        Json::List values;
        if (take_after_blanks("]")) {
            return values;
        }
        do {
            values.push_back(next(depth + 1));
        } while (take_after_blanks(","));
        if (!take("]")) {
            fail("a comma or ]");
        }
        return values;
    }

    Json::Members members(int depth) {
        Json::Members values;
        std::vector<std::string> names;
        if (take_after_blanks("}")) {
            return values;
        }
        do {
            if (!take_after_blanks("\"")) {
                fail("a name in double quotes");
            }
            std::string name = string();
            if (!take_after_blanks(":")) {
                fail("a colon");
            }
            values.emplace_back(name, next(depth + 1));
            names.push_back(std::move(name));
        } while (take_after_blanks(","));
        if (!take("}")) {
            fail("a comma or }");
        }
        std::sort(names.begin(), names.end());
        if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
            const std::string twice = *std::adjacent_find(names.begin(), names.end());
            const auto second = std::find_if(values.rbegin(), values.rend(),
                                             [&](const auto& one) { return one.first == twice; });
            throw InvalidArgument(
                Problem{text("a name comes twice in an object of JSON, again in line ",
                             second->second.line()),
                        "'" + shortened(twice) + "'", "each name once", "Remove one"});
        }
        return values;
    }

    std::string string() {
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            const char c = text_[at_];
            if (static_cast<unsigned char>(c) < 0x20) {
                fail("no control characters in a string");
            }
            ++at_;
            if (c != '\\') {
                out += c;
            } else if (take("u")) {
                append_utf8(out, code_point());
            } else {
                static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
                const auto which = at_ < text_.size() ? from.find(text_[at_]) : from.npos;
                if (which == from.npos) {
                    fail("one of \" \\ / b f n r t u behind a backslash");
                }
                out += to[which];
                ++at_;
            }
        }
        if (!take("\"")) {
            fail("the double quotes that end a string");
        }
        return out;
    }

    std::uint32_t four_digits() {
        std::uint32_t value = 0;
        const std::string_view digits = text_.substr(at_, 4);
        const auto [stopped, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error != std::errc() || stopped != digits.data() + 4) {
            fail("four hexadecimal digits");
        }
        at_ += 4;
        return value;
    }
    std::uint32_t code_point() {
        constexpr std::uint32_t replacement = 0xfffd;  // of halves that Python's module writes
        const std::uint32_t first = four_digits();
        if (first < 0xd800 || first >= 0xe000) {
            return first;
        }
        if (dialect_ == JsonDialect::Python && (first >= 0xdc00 || !second_half_follows())) {
            return replacement;
        }
        if (first >= 0xdc00 || !take("\\u")) {
            fail("a surrogate pair, the first half before the second");
        }
        const std::uint32_t second = four_digits();
        if (second < 0xdc00 || second >= 0xe000) {
            fail("the second half of a surrogate pair");
        }
        return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    bool second_half_follows() const {
        const std::string_view rest = text_.substr(at_, 4);
        return rest.starts_with("\\u") && rest.size() == 4 && (rest[2] == 'd' || rest[2] == 'D') &&
               std::string_view("cdefCDEF").find(rest[3]) != std::string_view::npos;
    }
    static void append_utf8(std::string& out, std::uint32_t code) {
        if (code < 0x80) {
            out += static_cast<char>(code);
            return;
        }
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static constexpr std::array<std::uint32_t, 4> lead{0, 0xc0, 0xe0, 0xf0};
        out += static_cast<char>(lead[static_cast<std::size_t>(more)] | (code >> (6 * more)));
        for (int i = more; i-- > 0;) {
            out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
        }
    }

    Json::Value number() {
        if (const auto found = no_number()) {
            return *found;
        }
        const char* const begin = text_.data() + at_;
        const std::size_t length = text_.substr(at_).find_first_not_of("+-.0123456789eE");
        const char* const end =
            begin + (length == std::string_view::npos ? text_.size() - at_ : length);
        double value = 0;
        auto [stopped, error] = std::from_chars(begin, end, value);
        if (error == std::errc::result_out_of_range && dialect_ == JsonDialect::Python) {
            value = std::strtod(std::string(begin, end).c_str(), nullptr);  // infinity, or zero
            error = {};
        }
        const std::string_view digits = std::string_view(begin, end).substr(*begin == '-' ? 1 : 0);
        const bool begins_well =
            !digits.empty() && digits[0] >= '0' && digits[0] <= '9' &&
            !(digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9');
        if (begin == end || error != std::errc() || stopped != end || !begins_well ||
            digits.back() == '.') {
            fail("a value: a number, a string, true, false, null, [ or {");
        }
        at_ += static_cast<std::size_t>(end - begin);
        return exactly(std::string_view(begin, end), value);
    }
    /// The integer that the digits are, if that is what they are.
    static Json::Value exactly(std::string_view digits, double value) {
        std::int64_t integer = 0;
        std::uint64_t large = 0;
        const char* const end = digits.data() + digits.size();
        const auto is_all = [&](auto& number) {
            const auto [stopped, error] = std::from_chars(digits.data(), end, number);
            return error == std::errc() && stopped == end;
        };
        if (digits != "-0" && is_all(integer)) {
            return integer;
        }
        return is_all(large) ? Json::Value(large) : Json::Value(value);
    }

    std::string_view text_;
    JsonDialect dialect_;
    std::size_t at_ = 0, counted_ = 0, line_ = 1;
};

constexpr std::array<const char*, 8> type_names{"null",   "true or false", "a number", "a string",
                                                "a list", "an object",     "a number", "a number"};

}  // namespace

const Json* Json::find(std::string_view name) const {
    if (const Members* const members = std::get_if<Members>(&value_)) {
        for (const auto& [key, value] : *members) {
            if (key == name) {
                return &value;
            }
        }
    }
    return nullptr;
}

template <class T>
const T& Json::as(const std::string& what, const char* allowed) const {
    if (const T* const value = std::get_if<T>(&value_)) {
        return *value;
    }
    throw InvalidArgument(Problem{text(what, " in line ", line_, " is of another type"),
                                  type_names[value_.index()], allowed, ""});
}

double Json::number(const std::string& what) const {
    if (const auto* const integer = std::get_if<std::int64_t>(&value_)) {
        return static_cast<double>(*integer);
    }
    if (const auto* const large = std::get_if<std::uint64_t>(&value_)) {
        return static_cast<double>(*large);
    }
    return as<double>(what, "a number");
}
std::int64_t Json::integer(const std::string& what) const {
    return as<std::int64_t>(what, "an integer of 64 bits");
}
bool Json::boolean(const std::string& what) const {
    return as<bool>(what, "true or false");
}
const std::string& Json::string(const std::string& what) const {
    return as<std::string>(what, "a string");
}
const Json::List& Json::list(const std::string& what) const {
    return as<List>(what, "a list");
}
const Json::Members& Json::members(const std::string& what) const {
    return as<Members>(what, "an object");
}

Json parse_json(std::string_view text, JsonDialect dialect) {
    return Parser(text, dialect).whole();
}

}  // namespace fluvial
