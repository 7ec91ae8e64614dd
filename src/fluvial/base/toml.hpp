// SPDX-License-Identifier: Apache-2.0
/// TOML (1.0) as the values that JSON has, by the library toml++ where the build had it.
#pragma once

#include <string_view>

#include "fluvial/base/json.hpp"

namespace fluvial {

/// A table as an object; dates and times as text. Throws InvalidArgument, which names line and
/// column, for a text that is not TOML or is nested deeper than toml++ allows, and in a build
/// without it.
Json parse_toml(std::string_view text);

}  // namespace fluvial
