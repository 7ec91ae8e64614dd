// SPDX-License-Identifier: Apache-2.0
/// What HDF5 would cut off without a word, or has no room for, is refused before a file is made.
#pragma once

#include <string>

#include "fluvial/store/openpmd_layout.hpp"

namespace fluvial::store {

/// Throws InvalidArgument for a text with a NUL, at which HDF5 ends it, and for an attribute that
/// has no name or is too large. `object` is what has the attributes, in words.
void check_attributes(const Attributes& attributes, const std::string& object);
/// Those of all objects of an iteration, and the names of its groups.
void check_attributes(const OpenPmdLayout& layout);

}  // namespace fluvial::store
