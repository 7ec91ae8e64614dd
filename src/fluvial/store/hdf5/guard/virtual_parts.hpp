// SPDX-License-Identifier: Apache-2.0
/// Lists of the parts of virtual datasets of HDF5.
#pragma once

#include <cstdint>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// Why the list of parts of a virtual dataset with `rank` dimensions must not be decoded, or null.
/// The list is the object `index` of the global heap at `address` (as the file counts).
const char* check_virtual(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                          std::uint64_t index, std::uint64_t rank);

}  // namespace fluvial::store
