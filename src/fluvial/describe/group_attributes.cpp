// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/group_attributes.hpp"

#include <cstdint>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial {

namespace {

constexpr char mark = '@';
constexpr const char* iteration_name = "@iteration";

void check_path(const std::string& path) {
    const bool gaps = path.empty() || path.front() == '/' || path.back() == '/' ||
                      path.find("//") != std::string::npos;
    if (gaps || path.find(mark) != std::string::npos) {
        throw InvalidArgument(Problem{"no group can be called that", "'" + path + "'",
                                      "words with single slashes between them and without @",
                                      "For example 'particles/electrons'"});
    }
}

}  // namespace

Attributes with_groups(const Attributes& attributes, const GroupAttributes& groups,
                       std::optional<std::uint64_t> iteration) {
    Attributes found = attributes;
    for (const auto& [path, said] : groups) {
        check_path(path);
        for (const auto& [name, value] : said) {
            found[path + mark + name] = value;
        }
    }
    if (iteration) {
        check_iteration(*iteration);
        found[iteration_name] = static_cast<std::int64_t>(*iteration);
    }
    return found;
}

Attributes own_attributes(const Attributes& attributes) {
    Attributes own;
    for (const auto& [name, value] : attributes) {
        if (name.find(mark) == std::string::npos) {
            own.emplace(name, value);
        }
    }
    return own;
}

GroupAttributes groups_of(const Attributes& attributes) {
    GroupAttributes groups;
    for (const auto& [name, value] : attributes) {
        const auto at = name.find(mark);
        if (at != std::string::npos && at > 0 && at + 1 < name.size()) {
            groups[name.substr(0, at)].emplace(name.substr(at + 1), value);
        }
    }
    return groups;
}

void check_iteration(std::uint64_t iteration) {
    if (!std::in_range<std::int64_t>(iteration)) {
        throw InvalidArgument(
            Problem{"iteration is out of range", text(iteration), "0 to 9223372036854775807", ""});
    }
}

std::uint64_t iteration_of(const Attributes& attributes, std::uint64_t index) {
    const auto found = attributes.find(iteration_name);
    const auto* const said =
        found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return said != nullptr && *said >= 0 ? static_cast<std::uint64_t>(*said) : index;
}

}  // namespace fluvial
