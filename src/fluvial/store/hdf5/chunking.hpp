// SPDX-License-Identifier: Apache-2.0
/// What an HDF5 dataset's layout message says of chunks. libhdf5 does not tell all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

struct Hdf5Chunking {
    std::vector<std::uint64_t> extents = {};           ///< and the bytes of an element; empty: none
    std::optional<std::uint64_t> tree = std::nullopt;  ///< where the index is a B-tree of version 1
    bool good = true;   ///< false: a chunk without elements, or a message that is too short
    bool known = true;  ///< false: a version of the message that is newer than this function
};
Hdf5Chunking decode_chunking(std::span<const std::byte> layout, const Hdf5Sizes& sizes);

/// The chunking of the dataset whose header begins at `address` (in the file).
Hdf5Chunking chunking_at(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address);

/// 0 where there are no chunks, or more bytes than can be.
std::uint64_t chunk_bytes(const Hdf5Chunking& chunking);

}  // namespace fluvial::store
