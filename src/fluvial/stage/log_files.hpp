// SPDX-License-Identifier: Apache-2.0
/// The files that steps are kept in on a disk: how they are opened, written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::stage {

/// What the system says of a disk that has no room.
bool is_full(int error_number);
/// Writes all bytes. False: the disk is full. Throws SystemError.
bool write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes);
/// How many bytes there were. Throws SystemError.
std::size_t read_all(int fd, std::uint64_t offset, std::span<std::byte> to);

/// A file in `folder` that vanishes with the last process that has it open. Throws SystemError.
host::Descriptor open_without_name(const std::string& folder);
/// Throws Refused unless what is open there is of this user or of root, and nobody else may write
/// to it. `path` names it.
void check_owner(int fd, const std::string& path);
/// The same of a folder, if it is there.
void check_folder(const std::string& path);
/// The same of a file in a folder, which is opened; invalid where there is none. Throws
/// SystemError.
host::Descriptor open_in(const std::string& folder, const char* name, int flags);

}  // namespace fluvial::stage
