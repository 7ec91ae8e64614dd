// SPDX-License-Identifier: Apache-2.0
/// Whether files store one dataset in the same way, so that its elements can be decoded alike.
#pragma once

#include "fluvial/store/file.hpp"

namespace fluvial::scan {

/// Throws InvalidArgument, which names both files and what they say, unless the attributes by which
/// elements are decoded say the same. NaN is missing whether a file says so or not.
void check_stored_alike(const store::Dataset& dataset, const store::Dataset& first);

}  // namespace fluvial::scan
