// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

#include "fluvial/base/json.hpp"

namespace fluvial {
namespace {

void write(const std::string& value, std::string& out) {
    static constexpr std::string_view hexadecimal = "0123456789abcdef";
    static constexpr std::string_view from = "\"\\\b\f\n\r\t", to = "\"\\bfnrt";
    const auto unit = [&](std::uint32_t code) {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) {
            out += hexadecimal[code >> shift & 15];
        }
    };
    out += '"';
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto first = static_cast<unsigned char>(value[i]);
        if (const auto which = from.find(value[i]); which != from.npos) {
            out += '\\';
            out += to[which];
        } else if (first >= 0x20 && first < 0x7f) {
            out += value[i];
        } else {
            const int more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
            std::uint32_t code = more == 0 ? first : first & (0x3fU >> more);
            for (int n = 0; n < more && i + 1 < value.size(); ++n) {
                code = code << 6 | (static_cast<unsigned char>(value[++i]) & 0x3fU);
            }
            if (code < 0x10000) {
                unit(code);
            } else {
                unit(0xd800 + ((code - 0x10000) >> 10));
                unit(0xdc00 + ((code - 0x10000) & 0x3ff));
            }
        }
    }
    out += '"';
}

void write(double value, std::string& out) {
    if (!std::isfinite(value)) {
        out += std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
        return;
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view written(digits.data(), end);
    out += written;
    out += written.find_first_of(".e") == written.npos ? ".0" : "";
}

void write(const Json& json, std::string& out);

void write(const Json::List& list, std::string& out) {
    out += '[';
    for (const Json& value : list) {
        out += &value == list.data() ? "" : ", ";
        write(value, out);
    }
    out += ']';
}

void write(const Json::Members& members, std::string& out) {
    out += '{';
    for (const auto& member : members) {
        out += &member == members.data() ? "" : ", ";
        write(member.first, out);
        out += ": ";
        write(member.second, out);
    }
    out += '}';
}

void write(std::nullptr_t, std::string& out) {
    out += "null";
}
void write(bool value, std::string& out) {
    out += value ? "true" : "false";
}
void write(std::int64_t value, std::string& out) {
    out += std::to_string(value);
}
void write(std::uint64_t value, std::string& out) {
    out += std::to_string(value);
}

void write(const Json& json, std::string& out) {
    std::visit([&](const auto& value) { write(value, out); }, json.value());
}

}  // namespace

std::string text_of(const Json& json) {
    std::string out;
    write(json, out);
    return out;
}

}  // namespace fluvial
