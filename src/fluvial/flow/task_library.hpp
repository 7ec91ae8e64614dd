// SPDX-License-Identifier: Apache-2.0
/// Shared libraries that export functions for tasks (exported_task.hpp), as ranks call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fluvial/flow/exported_task.hpp"
#include "fluvial/flow/function.hpp"

namespace fluvial::flow {

/// The functions of a library; it stays loaded until the process ends. None when it exports none.
/// Throws NoSuchFile when it cannot be loaded, InvalidArgument when it was made for another version
/// of Fluvial. Local.
std::optional<std::span<const fluvial_exported_task>> exported_by(const std::string& path);

/// The path of a library and the name of a function in it, as a task's first input.
Bytes exported_name(const std::string& path, const std::string& name);

/// Calls the function that `name` stands for (exported_name), with a message of its inputs; returns
/// that of its outputs. Throws Error with what the function has thrown, UnknownName when there is
/// none, InvalidArgument when a message is cut off, or a serial function is to run on several
/// ranks. Local; costs a look-up beside the function.
Bytes call_exported(const mpi::Comm& team, std::span<const std::byte> name,
                    std::span<const std::byte> inputs);

}  // namespace fluvial::flow
