// SPDX-License-Identifier: Apache-2.0
/// How an HDF5 file is told from others, also where nothing can read it, and what it says of the
/// program that writes it.
#pragma once

#include <string>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// HDF5's signature, behind a user block of any length that HDF5 allows.
bool is_hdf5(const InputFile& file);

/// What a file without user block says of its writer (format specification, section II.A); one that
/// was killed leaves that behind.
enum class Hdf5Writer {
    Unknown,      ///< it is not of a version that has such a note (3), or no HDF5, or not there
    Alone,        ///< has the file open, and nobody can read it meanwhile
    WithReaders,  ///< has the file open in such a way that others can read it (SWMR)
    None          ///< has closed the file
};
Hdf5Writer hdf5_writer_of(const std::string& path);

}  // namespace fluvial::store
