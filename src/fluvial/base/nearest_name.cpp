// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/nearest_name.hpp"

#include <algorithm>
#include <vector>

#include "fluvial/base/error.hpp"

namespace fluvial {
namespace {

constexpr std::size_t length_max = 256;  // longer names were not mistyped by hand: none is near

std::string lower(std::string_view name) {
    std::string out(name);
    for (char& letter : out) {
        letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
    }
    return out;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t slips(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

/// Whether one is the other with folders in front.
bool is_path_of(const std::string& a, const std::string& b) {
    const std::string& whole = a.size() > b.size() ? a : b;
    const std::string& end = a.size() > b.size() ? b : a;
    return whole.size() > end.size() && !end.empty() && whole.ends_with("/" + end);
}

}  // namespace

std::string did_you_mean(std::string_view seen, std::span<const std::string> known) {
    if (seen.empty() || seen.size() > length_max) {
        return "";
    }
    const std::string wanted = lower(seen);
    std::size_t least = 1 + std::max<std::size_t>(1, wanted.size() / 4);
    const std::string* nearest = nullptr;
    for (const std::string& name : known) {
        if (name.empty() || name.size() > length_max) {
            continue;
        }
        const std::string candidate = lower(name);
        const std::size_t distance = is_path_of(wanted, candidate) ? 1 : slips(wanted, candidate);
        if (distance < least && distance < std::max(wanted.size(), candidate.size())) {
            least = distance;
            nearest = &name;
        }
    }
    return nearest == nullptr ? "" : text("Did you mean '", *nearest, "'?");
}

std::string listed(std::span<const std::string> names) {
    constexpr std::size_t names_max = 30;
    std::string list;
    for (std::size_t i = 0; i < names.size() && i < names_max; ++i) {
        list += (i == 0 ? "'" : ", '") + names[i] + "'";
    }
    if (names.size() > names_max) {
        list += " and " + std::to_string(names.size() - names_max) + " more";
    }
    return names.empty() ? "none" : list;
}

}  // namespace fluvial
