// SPDX-License-Identifier: Apache-2.0
/// Object headers of HDF5, message by message.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// What is looked at with the first part of a header.
struct Hdf5Seen {
    std::map<std::uint64_t, std::uint64_t> parts;  ///< other parts: where, and how many bytes
    std::set<std::array<std::uint64_t, 3>> heaps;  ///< of attributes and links, and their indices
};

/// Why the object header of which `bytes` are read from `address` (in the file) on must not be
/// decoded, or null: its datatypes, dataspaces, attributes, fill values, links, filters, and lists
/// of virtual parts; attributes and links in heaps, too. Notes in `seen` what was looked at: reads
/// of other parts are passed over, and a heap is looked at once.
const char* check_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t bytes, Hdf5Seen& seen);

}  // namespace fluvial::store
