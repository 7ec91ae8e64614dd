// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/file_names.hpp"

#include <algorithm>
#include <memory>

#include <glob.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/store/engines.hpp"

namespace fluvial::store {
namespace {

/// At least one; otherwise it throws NoSuchFile.
std::vector<std::string> files_of_pattern(const std::string& pattern) {
    glob_t found{};
    // Unsorted: the library would sort by the rules of the user's language.
    const int failed = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found);
    const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, &::globfree);
    if (failed == GLOB_NOSPACE) {
        throw std::bad_alloc();
    }
    std::vector<std::string> paths;
    if (failed == 0) {
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    if (paths.empty()) {
        std::error_code error;
        throw NoSuchFile(Problem{"no such files", "'" + pattern + "'", "files that exist",
                                 "Check the pattern and the working directory, " +
                                     std::filesystem::current_path(error).string()});
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace

bool is_pattern(const std::string& name) {
    std::error_code error;
    return !names_address(name) && name.find_first_of("*?[") != std::string::npos &&
           !std::filesystem::exists(name, error);
}

bool FileNames::several() const {
    return names_.size() > 1 || (!names_.empty() && is_pattern(names_.front()));
}

std::string FileNames::said() const {
    std::string all;
    for (const std::string& name : names_) {
        all += (all.empty() ? "" : ", ") + name;
    }
    return all;
}

std::vector<std::string> FileNames::paths() const {
    if (names_.empty()) {
        throw InvalidArgument(Problem{"no file to open", "an empty list", "one path or more", ""});
    }
    std::vector<std::string> paths;
    for (const std::string& name : names_) {
        const std::vector<std::string> found =
            is_pattern(name) ? files_of_pattern(name) : std::vector{name};
        paths.insert(paths.end(), found.begin(), found.end());
    }
    return paths;
}

}  // namespace fluvial::store
