// SPDX-License-Identifier: Apache-2.0
/// How elements are compressed on their way into files: which codec, and the chunks that come of
/// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/dataset.hpp"

namespace fluvial::store {

/// A codec and how hard it tries.
struct Compression {
    std::string codec = "none";  ///< elements lie as they are; or "gzip"
    int level = 0;
};

/// What an option such as "gzip" or "gzip:9" says; empty and "none": no compression. Throws
/// InvalidArgument where the engine has no such codec, the codec no such level, or this build no
/// library for it.
Compression to_compression(const std::string& said, const std::string& engine);

/// How one dataset is compressed: in chunks of this extent, whose bytes are shuffled and then
/// deflated.
struct Packing {
    Coordinates chunk;
    int level = 0;
};

/// How what a step has of a dataset is compressed; none where it is too small to gain by it.
/// Chunks fit what the ranks have put, which the chunks of `dataset` say. Local.
std::optional<Packing> packing_of(const Compression& compression,
                                  const DatasetDescription& dataset);

/// Whether each put consists of whole chunks, so that no two ranks write into one; a chunk at
/// the end of the array may be cut off by it.
bool fits(const std::vector<Chunk>& puts, const Coordinates& shape, const Coordinates& chunk);

/// The extent of chunks that fit what the ranks have put, as far as that is regular. Chunks of more
/// bytes than `bytes_max` are cut further, where that leaves no rest.
Coordinates chunk_of(const Coordinates& shape, const std::vector<Chunk>& puts,
                     std::uint64_t element_bytes, std::uint64_t bytes_max);

}  // namespace fluvial::store
