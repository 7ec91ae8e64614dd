// SPDX-License-Identifier: Apache-2.0
/// How one process finds another one's memory file: through /proc, where it may.
#pragma once

#include <cstdint>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::host {

/// Device and number tell that a file is the one that was meant: the process table of another
/// container has other processes by the same ids.
struct FilePlace {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  ///< there is no file
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
};

/// The place of a file that this process keeps open for as long as others may look for it.
FilePlace place_of(const MemoryFile& file);
/// Throws Error where the file may not be opened, or is another one.
MemoryFile open_at(const FilePlace& place);

}  // namespace fluvial::host
