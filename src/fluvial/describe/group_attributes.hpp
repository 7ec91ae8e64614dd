// SPDX-License-Identifier: Apache-2.0
/// What a step says of the groups that its datasets are in: species, records, all meshes.
///
/// A stream has no groups. There the attribute `name` of the group `path` is the attribute
/// "path@name" of the step, and the number of the iteration, where it is not that of the step, is
/// "@iteration".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "fluvial/describe/attribute.hpp"

namespace fluvial {

/// Attributes by the paths of groups: {"particles/e", {{"particleShape", 3.0}}}.
using GroupAttributes = std::map<std::string, Attributes>;

/// The attributes of a step with what it says of groups, and its number. Throws InvalidArgument
/// for a path that no group can have.
Attributes with_groups(const Attributes& attributes, const GroupAttributes& groups,
                       std::optional<std::uint64_t> iteration);
/// Those of them that belong to the step itself.
Attributes own_attributes(const Attributes& attributes);
/// Those of groups.
GroupAttributes groups_of(const Attributes& attributes);
/// Throws InvalidArgument for a number that readers cannot have: they are of 63 bits.
void check_iteration(std::uint64_t iteration);
/// The number of the iteration that a step is; its index unless the attributes say so.
std::uint64_t iteration_of(const Attributes& attributes, std::uint64_t index);

}  // namespace fluvial
