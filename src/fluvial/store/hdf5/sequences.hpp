// SPDX-License-Identifier: Apache-2.0
/// Attribute values of variable length. libhdf5 1.10 trusts what it finds in the heaps in which
/// they lie, and crashes where a file is damaged there; so the heaps are read here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// Of an attribute whose type is a variable-length string or sequence: the bytes of each of its
/// `count` values as they are in the file; `item_bytes` is the size of a sequence's elements there,
/// 1 for strings. Throws DamagedFile that begins with `what`. Source: HDF5 File Format
/// Specification, "Level 1E: Disk Format - Global Heap".
std::vector<std::vector<std::byte>> read_sequences(hid_t attribute, std::size_t count,
                                                   std::size_t item_bytes, const std::string& what);

/// Bytes of an address in the file of this object.
std::size_t address_bytes(hid_t object);

}  // namespace fluvial::store
