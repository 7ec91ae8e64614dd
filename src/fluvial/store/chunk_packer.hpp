// SPDX-License-Identifier: Apache-2.0
/// Chunks as HDF5's filters shuffle and deflate leave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::store {

/// Keeps what its library needs from one chunk to the next; one a thread.
class ChunkPacker {
  public:
    /// `level`: 1 (fast) to 9. Throws InvalidArgument when the build leaves deflate out.
    explicit ChunkPacker(int level);
    ~ChunkPacker();
    ChunkPacker(const ChunkPacker&) = delete;
    ChunkPacker& operator=(const ChunkPacker&) = delete;

    struct Packed {
        std::vector<std::byte> bytes;
        /// Bit 1 is set where deflate gained nothing and was left out: HDF5's mask of such filters.
        std::uint32_t filters_left_out = 0;
    };
    /// `elements`: row-major without gaps. Throws std::bad_alloc.
    Packed pack(std::span<const std::byte> elements, std::size_t element_bytes);

  private:
    struct Library;
    std::unique_ptr<Library> library_;
    std::vector<std::byte> shuffled_;
};

/// HDF5's filter shuffle: the first bytes of all elements, then all second ones, and so on; bytes
/// that make no whole element come last, as they were. `planes` is as long and does not overlap.
void shuffle(std::span<const std::byte> elements, std::size_t element_bytes,
             std::span<std::byte> planes);

}  // namespace fluvial::store
