// SPDX-License-Identifier: Apache-2.0
/// How an HDF5 file is told from others, also where nothing can read it.
#pragma once

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// HDF5's signature, behind a user block of any length that HDF5 allows.
bool is_hdf5(const InputFile& file);

}  // namespace fluvial::store
