// SPDX-License-Identifier: Apache-2.0
/// The staging memory of one writer rank: readers map it read-only, only its owner allocates in it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::stage {

/// A best-fit allocator with coalescing whose blocks are offsets, valid in every process that maps
/// the file. Freed memory stays warm for the next step; middle-sized blocks rotate through a window
/// that fits a shared cache, because the block freed last still lies in the cache of the core that
/// read it and would have to be fetched back. Beyond `warm_bytes_max` of touched memory, free pages
/// go back to the system.
class Arena {
  public:
    static constexpr std::uint64_t alignment = 64;

    /// `capacity` bytes of address space; memory is taken as it is needed.
    Arena(const std::string& label, std::uint64_t capacity, std::uint64_t warm_bytes_max);

    /// Offset of `bytes` (at least 1) of memory. Throws SystemError when the host or the arena has
    /// none left.
    std::uint64_t allocate(std::uint64_t bytes);
    void free(std::uint64_t offset);
    /// Whether middle-sized blocks rotate from now on: not where no core of this host reads them,
    /// but one that sends, and the block freed last is the one to write into.
    void rotate(bool rotates) { rotates_ = rotates; }
    std::byte* at(std::uint64_t offset) const { return mapping_.data() + offset; }
    const host::MemoryFile& file() const { return file_; }
    /// Bytes in blocks that are allocated, and bytes of memory that are or were in use.
    std::uint64_t used_bytes() const { return used_bytes_; }
    std::uint64_t touched_bytes() const { return touched_end_; }

  private:
    using FreeBlocks = std::map<std::uint64_t, std::uint64_t>;
    /// Where a block of `bytes` should lie inside which free one; end() when none is large enough.
    std::pair<FreeBlocks::iterator, std::uint64_t> best_fit(std::uint64_t bytes);
    std::pair<FreeBlocks::iterator, std::uint64_t> next_in_window(std::uint64_t bytes);
    void insert_free(std::uint64_t offset, std::uint64_t bytes);
    void erase_free(FreeBlocks::iterator block);
    void touch(std::uint64_t end);

    host::MemoryFile file_;
    host::Mapping mapping_;
    std::uint64_t warm_bytes_max_;
    std::uint64_t used_bytes_ = 0;
    std::uint64_t touched_end_ = 0;
    bool rotates_ = true;
    std::uint64_t rotation_ = 0;  ///< end of the block that was placed last in the window
    std::map<std::uint64_t, std::uint64_t> allocated_;          ///< offset → bytes
    FreeBlocks free_;                                           ///< offset → bytes
    std::multimap<std::uint64_t, std::uint64_t> free_by_size_;  ///< bytes → offset
};

}  // namespace fluvial::stage
