// SPDX-License-Identifier: Apache-2.0
/// What libhdf5 1.10 takes on trust in the metadata that it reads, checked before it gets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// Sizes of numbers in a file and where its addresses count from, as its superblock has them.
struct Hdf5Sizes {
    std::size_t address_bytes = 8, length_bytes = 8;
    std::uint64_t base = 0;
};

/// Of a file whose superblock makes no sense: 8, 8 and 0.
Hdf5Sizes hdf5_sizes(const InputFile& file);

/// Why the global heap that begins at `address` (in the file) must not be read, null when nothing
/// speaks against it. `begin`: as much of it as was read. An entry without length, or longer than
/// the heap, makes libhdf5 walk in circles or out of its memory.
const char* distrust_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                          std::span<const std::byte> begin);

/// The same of the object header that is read from `address` on: attributes and fill values that
/// reach behind their message, links that cannot be decoded. Notes in `continued` where its other
/// parts begin, which are looked at with it; reads from there are passed over.
const char* distrust_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                            std::set<std::uint64_t>& continued);

}  // namespace fluvial::store
