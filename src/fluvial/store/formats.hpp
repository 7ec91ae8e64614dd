// SPDX-License-Identifier: Apache-2.0
/// The formats that open_file() knows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

struct Format {
    std::string_view name;
    /// Looks at the file's magic bytes. Must not throw for a file that is short.
    bool (*recognises)(const InputFile& file);
    std::shared_ptr<const File> (*open)(const std::string& path);
};

/// In the order in which they are asked.
std::span<const Format> formats();

/// A format whose series are folders.
struct FolderFormat {
    std::string_view name;
    /// Looks for the files that mark such a folder. Must not throw.
    bool (*recognises)(const std::string& path);
    std::shared_ptr<const File> (*open)(const std::string& path);
};

std::span<const FolderFormat> folder_formats();

}  // namespace fluvial::store
