// SPDX-License-Identifier: Apache-2.0
/// libhdf5's access to a file that this process lays out and all ranks write.
#pragma once

#include <cstdint>

#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// An access property list for making files.
Hdf5Id hdf5_output_access();

/// While one exists, libhdf5's writes from that memory are noted and not done. Others are: it may
/// write what it has kept back just then. Within one Hdf5Session.
///
/// Why: H5Dwrite_chunk makes room for a chunk and puts it into the index of its dataset, and no
/// other call does. The bytes are those of another rank, which writes them itself.
class Hdf5Placing {
  public:
    explicit Hdf5Placing(const void* from);
    Hdf5Placing(const Hdf5Placing&) = delete;
    Hdf5Placing& operator=(const Hdf5Placing&) = delete;
    ~Hdf5Placing();

    const void* const from;
    int writes = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< of the last write, from the beginning of the file
};

}  // namespace fluvial::store
