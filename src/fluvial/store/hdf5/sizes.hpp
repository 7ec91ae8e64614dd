// SPDX-License-Identifier: Apache-2.0
/// What the superblock of an HDF5 file says: how wide its numbers are, and whether a process is
/// writing it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// Sizes of numbers in a file and where its addresses count from, as its superblock has them.
struct Hdf5Sizes {
    std::size_t address_bytes = 8, length_bytes = 8;
    std::uint64_t base = 0;
};

/// The sizes that the superblock gives; where it makes no sense, 8, 8 and 0.
Hdf5Sizes hdf5_sizes(const InputFile& file);

/// Whether a program writes the file in the way that lets others read it meanwhile (SWMR), or did
/// when it was killed.
bool written_for_readers(const InputFile& file, const Hdf5Sizes& sizes);

/// The address of what is nowhere.
std::uint64_t undefined_address(const Hdf5Sizes& sizes);

}  // namespace fluvial::store
