// SPDX-License-Identifier: Apache-2.0
/// HDF5's file access through InputFile: without file locks, which some parallel file systems lack,
/// and able to say where libhdf5 would have read.
#pragma once

#include <cstdint>

#include "fluvial/store/hdf5/session.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// An access property list for opening files read-only.
Hdf5Id hdf5_access();

/// The file of an object in a file that was opened so; lives as long as that.
const InputFile& bytes_of_file(hid_t object);

/// While one exists, libhdf5's reads of raw data are noted and not done; their buffers stay as they
/// were. Within one Hdf5Session.
///
/// Why: HDF5 before 1.14 knows where a chunk is, but tells only after walking through all chunks
/// before it (H5Dget_chunk_info_by_coord). H5Dread_chunk finds it through the index.
class Hdf5Probe {
  public:
    Hdf5Probe();
    Hdf5Probe(const Hdf5Probe&) = delete;
    Hdf5Probe& operator=(const Hdf5Probe&) = delete;
    ~Hdf5Probe();

    int reads = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< of the last read, from the beginning of the file
};

}  // namespace fluvial::store
