// SPDX-License-Identifier: Apache-2.0
/// Hints that users pass in an MPI_Info: to MPI-IO, to scans, to series in C.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <mpi.h>

namespace fluvial::mpi {

/// All that `info` says, by key; nothing of MPI_INFO_NULL. Local.
std::map<std::string, std::string> hints_of(MPI_Info info);
/// What it says of `key`. Local.
std::optional<std::string> hint(MPI_Info info, const std::string& key);

/// The same as a positive whole number; 0 when there is none. Throws InvalidArgument for anything
/// else.
long long positive_hint(MPI_Info info, const std::string& key);
/// The same as "true" or "1", "false" or "0"; false when there is none. Throws InvalidArgument for
/// anything else.
bool truth_hint(MPI_Info info, const std::string& key);

}  // namespace fluvial::mpi
