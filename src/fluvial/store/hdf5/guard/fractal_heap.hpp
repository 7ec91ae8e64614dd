// SPDX-License-Identifier: Apache-2.0
/// Attributes and links that are too many for their object's header: HDF5 keeps them in a fractal
/// heap, and their places in B-trees of version 2.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// Calls `use` with each record of the tree at `address` (in the file) until it gives a reason.
/// Returns that reason, or what is wrong with the tree, or null. A tree that is newer than this
/// guard has none.
const char* for_each_record(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                            const std::function<const char*(std::span<const std::byte>)>& use);

/// One heap. Local; reads what it is asked for and keeps the block that it read last.
class FractalHeap {
  public:
    /// Opens the heap at `address` (in the file).
    FractalHeap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address);

    /// What is wrong with the heap, or null.
    const char* reason() const { return reason_; }
    /// False: a version that is newer than this guard. Then it has no objects.
    bool known() const { return known_; }
    /// The blocks of the heap are encoded.
    bool filtered() const { return filtered_; }
    /// The object of this ID; none where the heap has no such object.
    std::optional<std::vector<std::byte>> object(std::span<const std::byte> id);

  private:
    struct Block {
        std::uint64_t address, begin, bytes;  ///< begin: in the heap's own addresses
    };

    std::optional<std::vector<std::byte>> read(std::uint64_t address, std::uint64_t bytes) const;
    std::optional<std::vector<std::byte>> managed(std::uint64_t offset, std::uint64_t length) const;
    std::optional<std::vector<std::byte>> huge(std::span<const std::byte> id) const;
    std::optional<std::vector<std::byte>> tiny(std::span<const std::byte> id) const;
    std::optional<Block> block_of(std::uint64_t offset) const;
    std::uint64_t row_bytes(std::uint64_t row) const;

    const InputFile& file_;
    const Hdf5Sizes& sizes_;
    const char* reason_ = nullptr;
    bool known_ = true, filtered_ = false;
    std::size_t id_bytes_ = 0, offset_bytes_ = 0, length_bytes_ = 0;
    std::uint64_t width_ = 0, start_bytes_ = 0, direct_bytes_ = 0, heap_bits_ = 0;
    std::uint64_t root_ = 0, root_rows_ = 0, huge_tree_ = 0;
};

}  // namespace fluvial::store
