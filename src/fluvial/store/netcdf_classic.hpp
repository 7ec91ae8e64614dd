// SPDX-License-Identifier: Apache-2.0
/// netCDF classic: CDF-1, CDF-2 ("64-bit offset") and CDF-5 ("64-bit data").
#pragma once

#include <memory>
#include <string>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

/// Whether the file opens with the magic bytes of one of the three versions.
bool is_netcdf_classic(const InputFile& file);

/// Local. Datasets are Affine, in big-endian order; records interleave. The length of the unlimited
/// dimension is what the header says, or what the file holds where the header leaves it open
/// ("streaming"). Text (NC_CHAR) is no dataset. Throws SystemError; DamagedFile also when the file
/// ends before its data do, but for the padding behind them.
/// Source: "The NetCDF Classic Format Specification", Unidata.
std::shared_ptr<const File> open_netcdf_classic(const std::string& path);

}  // namespace fluvial::store
