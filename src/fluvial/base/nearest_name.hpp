// SPDX-License-Identifier: Apache-2.0
/// Which of the names that exist the caller may have meant: for messages about a name that does
/// not.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fluvial {

/// "Did you mean 'temperature'?" for the nearest of `known`; empty where none is near. Near is a
/// name that differs by letter case alone, that ends with "/" and `seen` (or the other way round),
/// or that few slips of the keyboard turn into `seen`: one for every four characters, at least one
/// (insertions, deletions, replacements and swaps of neighbours: optimal string alignment, Damerau
/// 1964). Costs |seen| · |known| steps a name.
std::string did_you_mean(std::string_view seen, std::span<const std::string> known);

/// "'a', 'b' and 7 more": of many names the first ones, more would hide the message; "none".
std::string listed(std::span<const std::string> names);

}  // namespace fluvial
