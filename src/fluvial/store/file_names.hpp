// SPDX-License-Identifier: Apache-2.0
/// Which files are meant where one, a pattern or a list can be: what a call that opens files takes.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace fluvial::store {

/// A path ("t.nc"), a pattern of paths ("t_*.nc"; * and ? and [0-9], within a folder), or a list of
/// them in an order: {"jan.nc", "feb.nc"}. A file that has such a name is that file, whatever is
/// in its name.
class FileNames {
  public:
    FileNames(const char* name) : FileNames(std::string(name)) {}
    FileNames(const std::filesystem::path& name) : FileNames(name.string()) {}
    FileNames(std::string name) : names_{std::move(name)} {}
    FileNames(std::vector<std::string> names) : names_(std::move(names)), list_(true) {}
    FileNames(std::initializer_list<std::string> names)
        : FileNames(std::vector<std::string>(names)) {}

    /// Of the files that are there now; those of a pattern are sorted by name. Local. Throws
    /// InvalidArgument for an empty list, NoSuchFile where a pattern fits nothing.
    std::vector<std::string> paths() const;
    /// Whether several files can be meant.
    bool several() const;
    bool is_list() const { return list_; }
    /// As they were said, for messages: "t_*.nc", or "jan.nc, feb.nc".
    std::string said() const;

  private:
    std::vector<std::string> names_;
    bool list_ = false;
};

/// Whether a name stands for the files that it fits, and is not that of a file. Local.
bool is_pattern(const std::string& name);

}  // namespace fluvial::store
