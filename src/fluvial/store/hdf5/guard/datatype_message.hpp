// SPDX-License-Identifier: Apache-2.0
/// Datatype messages of HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// What a datatype message says of its type.
struct Hdf5Type {
    unsigned kind = 0;        ///< its class
    std::uint64_t bytes = 0;  ///< of an element in the file
    bool plain = true;        ///< no sequences, no references
    bool known = true;        ///< false: newer than this guard, wholly or in a part
};

/// Why libhdf5 must not decode this datatype message, or null: it must lie inside of `message`, its
/// members inside of it, and its numbers inside of their bytes.
const char* check_datatype(std::span<const std::byte> message, const Hdf5Sizes& sizes,
                           Hdf5Type& type);

}  // namespace fluvial::store
