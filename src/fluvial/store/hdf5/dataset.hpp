// SPDX-License-Identifier: Apache-2.0
/// Datasets of HDF5: libhdf5 says where the bytes are; they are read without it, as far as their
/// encoding allows.
#pragma once

#include <memory>
#include <string>

#include "fluvial/store/file.hpp"
#include "fluvial/store/hdf5/contents.hpp"

namespace fluvial::store {

/// The file, open twice: for its bytes, and in libhdf5.
struct OpenHdf5 {
    InputFile bytes;
    Hdf5Id file;
    bool grows;  ///< another program wrote it when it was opened, so that others can read it
};

/// `description.shape` may exceed the stored extents (a variable that lags behind its unlimited
/// dimension): what lies beyond them is fill value. Throws DamagedFile, InvalidArgument.
std::shared_ptr<const Dataset> open_hdf5_dataset(std::shared_ptr<const OpenHdf5> file,
                                                 const Hdf5Entry& entry,
                                                 DatasetDescription description);

}  // namespace fluvial::store
