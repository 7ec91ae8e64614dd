// SPDX-License-Identifier: Apache-2.0
/// Files with the number of an iteration in their names: "data%T.h5", "data_%06T.h5".
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fluvial::store {

/// Whether a name stands for a file of each iteration.
bool has_number(const std::string& name);

/// Throws InvalidArgument where a name of files to write has what would be a number and is none,
/// such as "%6T": it would be the name of one file, as it stands.
void check_number(const std::string& name);

/// The path of the file with a number: file_of_number("data_%06T.h5", 7) is "data_000007.h5".
/// Throws InvalidArgument as numbered_files.
std::string file_of_number(const std::string& pattern, std::uint64_t number);

/// Paths of the files of a pattern by their numbers. "%T" stands for any number of digits, "%06T"
/// for six, with zeros in front, or more where the number has more. Local. Throws InvalidArgument
/// when "%T" is not in the file's own name, or comes twice, or two files have one number;
/// SystemError when no file fits.
std::map<std::uint64_t, std::string> numbered_files(const std::string& pattern);

}  // namespace fluvial::store
