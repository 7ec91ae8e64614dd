// SPDX-License-Identifier: Apache-2.0
/// HDF5 files, among them netCDF-4 and openPMD.
///
/// libhdf5 reads what is about the data, under one lock for the process; the data themselves are
/// read past it (dataset.hpp). Not listed, but found by dataset(): further paths that hard and
/// soft links make to the same groups. What is in other files behind external links is not there.
///
/// Dimension names come from dimension scales (netCDF-4, h5netcdf, h5py), from h5py's labels or
/// from openPMD's axisLabels. A dimension of netCDF-4 that belongs to a group is listed with its
/// path ("group/x"); datasets name it without ("x").
///
/// A file that another program writes so that others can read it meanwhile (SWMR) is read as it was
/// when it was opened: shapes stay, the index of chunks is looked at when they are read.
///
/// openPMD's constant record components are datasets whose elements are all one value.
#pragma once

#include <memory>
#include <string>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

/// Local. Throws SystemError, DamagedFile.
std::shared_ptr<const File> open_hdf5(const std::string& path);

}  // namespace fluvial::store
