// SPDX-License-Identifier: Apache-2.0
/// A part of a dataset, and the place where its bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial {

/// In memory that this process sees.
struct MemoryHere {
    const std::byte* data = nullptr;
};

/// In memory of the rank that wrote the chunk, so far behind its beginning; this process does not
/// see it.
struct MemoryOfRank {
    std::uint64_t offset = 0;
};

/// In memory, or on a disk, that another host shows under a key to processes that may read it.
struct MemoryOnHost {
    std::uint32_t key = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  ///< of what lies on a disk there
};

/// Bytes of a file, which the owner of the chunk knows.
struct BytesOfFile {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  ///< 0 where the file has none
};

using ChunkPlace = std::variant<MemoryHere, MemoryOfRank, MemoryOnHost, BytesOfFile>;

/// A hyperslab of a dataset: row-major, without gaps.
struct Chunk {
    Region region;  ///< global coordinates
    int rank = 0;   ///< of the job that wrote it
    ChunkPlace place;

    /// Its elements, where this process sees them; otherwise null.
    const std::byte* here() const {
        const auto* const memory = std::get_if<MemoryHere>(&place);
        return memory != nullptr ? memory->data : nullptr;
    }
    /// Its place in the memory of its rank, where this process does not see that; otherwise null.
    const MemoryOfRank* in_rank() const { return std::get_if<MemoryOfRank>(&place); }
    /// Its bytes, where they are those of a file; otherwise null.
    const BytesOfFile* in_file() const { return std::get_if<BytesOfFile>(&place); }
};

inline std::uint64_t bytes_of(const Chunk& chunk, DType dtype) {
    return static_cast<std::uint64_t>(chunk.region.volume()) * size_of(dtype);
}

}  // namespace fluvial
