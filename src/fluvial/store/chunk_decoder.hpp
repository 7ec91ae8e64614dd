// SPDX-License-Identifier: Apache-2.0
/// From the bytes of a chunk as they are stored to its elements: the filters of HDF5 and the codecs
/// of Zarr, undone from the last to the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

/// Move-only; one a thread. Owns its memory: two chunks at most, none without filters.
class ChunkDecoder {
  public:
    /// Throws InvalidArgument for a filter that this build leaves out.
    ChunkDecoder(const Chunked& layout, DType dtype);
    ChunkDecoder(ChunkDecoder&&) noexcept;
    ChunkDecoder& operator=(ChunkDecoder&&) noexcept;
    ~ChunkDecoder();

    /// The chunk's elements, still in the layout's byte order; valid until the next call and as
    /// long as `stored` is. Bit i of `filters_left_out`: filter i was not applied. Throws
    /// DamagedFile that begins with `what` (e.g. "chunk (0, 3) of 'T' in 't.nc'") and names the
    /// filter, when the bytes are not what the filters made of a whole chunk.
    std::span<const std::byte> decode(std::span<const std::byte> stored,
                                      std::uint32_t filters_left_out, const std::string& what);
    /// The same, but elements are only put together, with the shuffle filter, when elements() asks
    /// for them.
    void decode_apart(std::span<const std::byte> stored, std::uint32_t filters_left_out,
                      const std::string& what);
    /// Elements [first, first + count) of the chunk that decode_apart() was given last; valid until
    /// the next call of anything.
    std::span<const std::byte> elements(std::size_t first, std::size_t count);
    /// The bytes of a decoded chunk.
    std::size_t chunk_bytes() const { return chunk_bytes_; }

  private:
    /// Length of the data between two filters; what a compressor made of it has only a bound.
    struct Length {
        std::size_t bytes;
        bool exact;
    };
    struct Tools;

    std::span<const std::byte> decompress(std::span<const std::byte> in, Length out,
                                          Filter::Kind kind, const std::string& what);
    std::span<std::byte> other_scratch(std::span<const std::byte> than, std::size_t bytes);

    /// Throws DamagedFile unless that is as long as a chunk.
    void check_whole(std::span<const std::byte> decoded, const std::string& what) const;
    /// Undoes all filters but the first `kept` ones.
    std::span<const std::byte> undo(std::span<const std::byte> stored,
                                    std::uint32_t filters_left_out, std::size_t kept,
                                    const std::string& what);

    /// Elements of a transposed chunk in the order of its axes. Throws DamagedFile.
    std::span<const std::byte> in_order(std::span<const std::byte> stored, const Filter& filter,
                                        const std::string& what);

    std::vector<Filter> filters_;
    Coordinates chunk_;
    DType dtype_;
    std::size_t chunk_bytes_, element_bytes_;
    std::span<const std::byte> apart_;  ///< of decode_apart()
    bool shuffled_ = false;             ///< apart_ is in planes
    std::unique_ptr<Tools> tools_;
};

/// "deflate", "shuffle", "fletcher32", "zstd", "gzip", "blosc", "crc32c", "transpose".
const char* name_of(Filter::Kind kind);

}  // namespace fluvial::store
