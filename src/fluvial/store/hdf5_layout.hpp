// SPDX-License-Identifier: Apache-2.0
/// From HDF5's creation properties of a dataset to the layout of its bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fluvial/store/hdf5_contents.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

struct Hdf5Storage {
    Layout layout;
    std::vector<std::byte> fill;    ///< one element in native order
    bool nothing_stored = false;    ///< every chunk is fill value
    bool edges_unfiltered = false;  ///< chunks that reach beyond the shape have no filters
    std::string missing_filter;     ///< that libhdf5 cannot undo here; empty: none
};

/// Of an open dataset. `file_bytes` is the length of the file.
Hdf5Storage storage_of(hid_t dataset, const Hdf5Entry& entry, std::uint64_t file_bytes,
                       const std::string& what);

/// Of data that are nowhere in the file: chunks of fill value.
Chunked nothing_but(std::vector<std::byte> fill, const Coordinates& shape);

}  // namespace fluvial::store
