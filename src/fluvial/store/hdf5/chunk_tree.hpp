// SPDX-License-Identifier: Apache-2.0
/// Where the chunks of a dataset lie whose index is a B-tree of version 1, as HDF5 makes it unless
/// it is asked for newer structures, and netCDF-4 always does.
///
/// This tree has no checksum, so it is read as a whole, and all that must fit together is compared:
///
/// | of                  | must be                                                              |
/// |---------------------|----------------------------------------------------------------------|
/// | a node              | inside the file; of the level below its parent's; not over-full      |
/// | its siblings        | the nodes before and after it on its level                           |
/// | a chunk's offset    | a multiple of the chunk, inside the shape, behind the chunk before it|
/// | a chunk's bytes     | inside the file; of no other chunk, nor of the tree; whole, where    |
/// |                     | there are no filters                                                 |
///
/// The keys of parents are not needed for that, and are not looked at. What cannot be noticed: a
/// leaf that claims fewer entries (chunks that were never written are not in the tree, either), and
/// a chunk's address that leads to bytes that belong to nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/store/hdf5/sizes.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

/// What is known before the tree is read.
struct Hdf5ChunkTree {
    std::uint64_t root = 0;         ///< as the file counts
    std::uint64_t header = 0;       ///< in the file: of the dataset
    std::uint64_t node_chunks = 0;  ///< that fit into a node
    Coordinates chunk, shape;
    std::uint64_t whole_bytes = 0;  ///< of each chunk; 0: filters make it differ
};

class Hdf5Chunks {
  public:
    /// Reads the tree: a read a node, 24 bytes of memory a chunk. Local, blocking. Throws
    /// DamagedFile that begins with `what`, SystemError.
    Hdf5Chunks(const InputFile& file, const Hdf5Sizes& sizes, const Hdf5ChunkTree& tree,
               const std::string& what);

    /// By its index in the grid of chunks along each axis.
    StoredChunk find(const Coordinates& chunk) const;

    std::size_t size() const { return chunks_.size(); }

  private:
    friend class Hdf5ChunkWalk;
    struct Stored {
        std::uint64_t number;  ///< in the grid, the last axis fastest
        std::uint64_t offset;
        std::uint32_t bytes, filters_left_out;
    };

    Coordinates grid_;
    std::vector<Stored> chunks_;  ///< by number
};

}  // namespace fluvial::store
