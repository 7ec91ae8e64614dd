// SPDX-License-Identifier: Apache-2.0
/// Texts in which upper and lower case mean the same, such as the names of hosts (RFC 4343).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fluvial {

/// Of the 26 letters alone, whatever the locale.
inline char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) { return lower_case(c); });
    return out;
}

inline bool same_but_for_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace fluvial
