// SPDX-License-Identifier: Apache-2.0
/// From HDF5's creation properties of a dataset to the layout of its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/chunk_tree.hpp"
#include "fluvial/store/hdf5/contents.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

struct Hdf5Storage {
    Layout layout;
    std::vector<std::byte> fill;    ///< one element in native order
    bool nothing_stored = false;    ///< every chunk is fill value
    bool edges_unfiltered = false;  ///< chunks that reach beyond the shape have no filters
    std::string missing_filter;     ///< that libhdf5 cannot undo here; empty: none
    bool of_others = false;         ///< a virtual dataset
    /// Where the chunks lie, if their index is such a tree, which has to be read before them.
    std::optional<Hdf5ChunkTree> tree;
};

/// The storage of an open dataset of this file.
Hdf5Storage storage_of(hid_t dataset, const Hdf5Entry& entry, const InputFile& file,
                       const std::string& what);

/// Reads the index of the chunks of an open dataset, if there is one that Fluvial reads itself.
/// Throws DamagedFile.
void check_chunks(hid_t dataset, const std::string& what);

/// The layout of data that are nowhere in the file: chunks of fill value.
Chunked nothing_but(std::vector<std::byte> fill, const Coordinates& shape);

}  // namespace fluvial::store
