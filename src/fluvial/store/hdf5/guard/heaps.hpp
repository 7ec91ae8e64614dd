// SPDX-License-Identifier: Apache-2.0
/// Heaps of HDF5 that have no checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// Why the global heap that begins at `address` (in the file) must not be read, null when nothing
/// speaks against it. `begin`: as much of it as was read. An entry without length, or longer than
/// the heap, makes libhdf5 walk in circles or out of its memory.
const char* check_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                       std::span<const std::byte> begin);

/// Why the local heap, which has the names in an old group, must not be read, or null. `begin`: as
/// much of it as was read. Libhdf5 adds to its length without looking, and follows its free blocks.
const char* check_local_heap(const InputFile& file, const Hdf5Sizes& sizes,
                             std::span<const std::byte> begin);

/// Reads the object `index` of the global heap at `address` (as the file counts). What speaks
/// against it, or null. `object` stays empty for a heap that is newer than this guard.
const char* find_in_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t index, std::vector<std::byte>& object);

}  // namespace fluvial::store
