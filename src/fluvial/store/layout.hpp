// SPDX-License-Identifier: Apache-2.0
/// Where on disk which hyperslab of a dataset lies, and how it is encoded there.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/describe/chunk.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// Every element at offset + Σ index[axis] · strides[axis]: contiguous arrays, and the records of
/// netCDF classic, whose first stride is the length of a record.
struct Affine {
    std::uint64_t offset = 0;
    Coordinates strides;  ///< bytes, not negative, descending; one an axis
    bool swapped = false;
};

/// How a chunk was encoded; decoding goes from the last filter to the first.
struct Filter {
    /// Deflate is a stream of zlib; Transpose stands before all that sees bytes.
    enum class Kind : std::uint8_t {
        Deflate,
        Shuffle,
        Fletcher32,
        Zstd,
        Gzip,
        Blosc,
        Crc32c,
        Transpose
    };
    Kind kind = Kind::Deflate;
    std::uint32_t element_bytes = 0;  ///< Shuffle only
    /// Transpose only: which axis of the chunk was stored as the first one, the second and so on.
    Coordinates axes = {};
};

/// A regular grid of chunks, each wherever the file's index says, or in a file of its own; chunks
/// at the upper edges are stored whole. A chunk that was never written consists of `fill`.
struct Chunked {
    Coordinates chunk;  ///< extents of every chunk
    std::vector<Filter> filters;
    bool swapped = false;
    std::vector<std::byte> fill;  ///< one element in native order
};

/// Only the format's own library can decode it.
struct ByLibrary {
    std::string why;      ///< e.g. "filter 32004 (lz4)"
    Coordinates granule;  ///< extents that are best read together: of a chunk, or empty
};

using Layout = std::variant<Affine, Chunked, ByLibrary>;

/// The bytes of a chunk in its file, as they are stored.
struct StoredChunk : BytesOfFile {
    bool stored = false;                 ///< false: never written
    std::uint32_t filters_left_out = 0;  ///< bit i: filter i was not applied to this chunk
    std::string file = {};               ///< the path of its file; empty: that of Dataset::bytes()

    StoredChunk() = default;
    StoredChunk(const BytesOfFile& where, std::uint32_t without = 0)
        : BytesOfFile(where), stored(true), filters_left_out(without) {}
};

}  // namespace fluvial::store
