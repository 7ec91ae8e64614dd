// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/numbered_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

/// Where "%T" or "%06T" lies in a name, and the fewest digits that stand for it.
struct Mark {
    std::size_t at = 0, size = 0, digits = 1;
};

std::optional<Mark> find_mark(std::string_view name, std::size_t from = 0) {
    for (std::size_t at = name.find('%', from); at != std::string_view::npos;
         at = name.find('%', at + 1)) {
        std::size_t end = at + 1;
        while (end < name.size() && name[end] >= '0' && name[end] <= '9') {
            ++end;
        }
        const std::string_view digits = name.substr(at + 1, end - at - 1);
        const bool sound =
            digits.empty() || (digits.size() <= 3 && digits.size() >= 2 && digits.front() == '0');
        if (end < name.size() && name[end] == 'T' && sound) {
            Mark mark{at, end + 1 - at, 1};
            if (!digits.empty()) {
                std::from_chars(digits.data(), digits.data() + digits.size(), mark.digits);
            }
            return mark;
        }
    }
    return std::nullopt;
}

/// The number in `entry`, where it fits the name around the mark.
std::optional<std::uint64_t> number_in(std::string_view entry, std::string_view name,
                                       const Mark& mark) {
    const std::string_view before = name.substr(0, mark.at);
    const std::string_view behind = name.substr(mark.at + mark.size);
    if (entry.size() < before.size() + behind.size() + mark.digits || !entry.starts_with(before) ||
        !entry.ends_with(behind)) {
        return std::nullopt;
    }
    const std::string_view digits =
        entry.substr(before.size(), entry.size() - before.size() - behind.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return number;
}

/// The mark in the own name of a pattern.
Mark only_mark(const std::string& pattern) {
    const std::filesystem::path path(pattern);
    const std::string name = path.filename().string();
    const auto mark = find_mark(name);
    if (!mark || find_mark(name, mark->at + mark->size) || find_mark(path.parent_path().string())) {
        throw InvalidArgument(Problem{"cannot use the pattern of files", "'" + pattern + "'",
                                      "one %T, or %06T, in the file's own name",
                                      "For example 'run/data%T.h5'"});
    }
    return *mark;
}

}  // namespace

std::string file_of_number(const std::string& pattern, std::uint64_t number) {
    const Mark mark = only_mark(pattern);
    std::filesystem::path path(pattern);
    std::string name = path.filename().string();
    std::string digits = std::to_string(number);
    digits.insert(0, mark.digits - std::min(digits.size(), mark.digits), '0');
    name.replace(mark.at, mark.size, digits);
    return path.replace_filename(name).string();
}

bool has_number(const std::string& name) {
    return find_mark(name).has_value();
}

void check_number(const std::string& name) {
    if (has_number(name)) {
        return;
    }
    for (std::size_t at = name.find('%'); at != std::string::npos; at = name.find('%', at + 1)) {
        const std::size_t end = name.find_first_not_of("0123456789", at + 1);
        if (end != std::string::npos && end > at + 1 && name[end] == 'T') {
            throw InvalidArgument(
                Problem{"this is no number in the name of a file",
                        "'" + name.substr(at, end + 1 - at) + "' in '" + name + "'",
                        "%T, or %06T for six digits (01 to 099 of them)", ""});
        }
    }
}

std::map<std::uint64_t, std::string> numbered_files(const std::string& pattern) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(pattern).parent_path();
    const std::string name = fs::path(pattern).filename().string();
    const Mark mark = only_mark(pattern);
    std::map<std::uint64_t, std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
        const std::string file = entry.path().filename().string();
        const auto number = number_in(file, name, mark);
        if (!number) {
            continue;
        }
        const auto [known, fresh] = found.try_emplace(*number, (folder / file).string());
        if (!fresh) {
            throw InvalidArgument(Problem{text("two files have the number ", *number),
                                          "'" + file + "'", "'" + known->second + "' alone",
                                          "Name the digits, as in %06T"});
        }
    }
    if (found.empty()) {
        throw SystemError(Problem{
            "no such files", "'" + pattern + "'", "files that exist",
            "Check the pattern and the working directory, " + fs::current_path(error).string()});
    }
    return found;
}

}  // namespace fluvial::store
