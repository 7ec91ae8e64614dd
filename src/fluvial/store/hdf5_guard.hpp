// SPDX-License-Identifier: Apache-2.0
/// What libhdf5 1.10 takes on trust in the metadata that it reads, checked before it gets them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// Sizes of numbers in a file and where its addresses count from, as its superblock has them.
struct Hdf5Sizes {
    std::size_t address_bytes = 8, length_bytes = 8;
    std::uint64_t base = 0;
};

/// Of a file whose superblock makes no sense: 8, 8 and 0.
Hdf5Sizes hdf5_sizes(const InputFile& file);

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
/// against it, or null.
const char* find_in_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t index, std::vector<std::byte>& object);

/// What a datatype message says of its type.
struct Hdf5Type {
    unsigned kind = 0;        ///< its class
    std::uint64_t bytes = 0;  ///< of an element in the file
    bool plain = true;        ///< no sequences, no references
};

/// Why libhdf5 must not decode this datatype message, or null: it must lie inside of `message`, its
/// members inside of it, and its numbers inside of their bytes.
const char* check_datatype(std::span<const std::byte> message, const Hdf5Sizes& sizes,
                           Hdf5Type& type);

/// Why the list of parts of a virtual dataset with `rank` dimensions must not be decoded, or null.
/// It is the object `index` of the global heap at `address` (as the file counts).
const char* check_virtual(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                          std::uint64_t index, std::uint64_t rank);

/// Why a filter message must not be trusted, or null. `decoded_bytes`: how many bytes of a chunk
/// the filters say to decode that only libhdf5 undoes, if there are any; they do not look at the
/// chunk.
const char* check_filters(std::span<const std::byte> message, std::uint64_t& decoded_bytes);

/// What a layout message says of chunks.
struct Hdf5Chunking {
    std::vector<std::uint64_t> extents;  ///< and the bytes of an element; empty: no chunks
    std::optional<std::uint64_t> tree;   ///< where their index is a B-tree of version 1
    bool good = true;                    ///< false: libhdf5 divides by zero, or reads too far
};
Hdf5Chunking decode_chunking(std::span<const std::byte> layout, const Hdf5Sizes& sizes);

/// Of the dataset whose header begins at `address` (in the file).
Hdf5Chunking chunking_at(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address);

/// 0 where there are no chunks, or more bytes than can be.
std::uint64_t chunk_bytes(const Hdf5Chunking& chunking);

/// The address of what is nowhere.
std::uint64_t undefined_address(const Hdf5Sizes& sizes);

/// What is looked at with the first part of a header.
struct Hdf5Seen {
    std::map<std::uint64_t, std::uint64_t> parts;  ///< other parts: where, and how many bytes
    std::set<std::array<std::uint64_t, 3>> heaps;  ///< of attributes and links, and their indices
};

/// Why the object header of which `bytes` are read from `address` (in the file) on must not be
/// decoded, or null: its datatypes, dataspaces, attributes, fill values, links, filters, and lists
/// of virtual parts; attributes and links in heaps, too. Notes in `seen` what was looked at: reads
/// of other parts are passed over, and a heap is looked at once.
const char* check_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t bytes, Hdf5Seen& seen);

}  // namespace fluvial::store
