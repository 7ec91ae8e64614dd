// SPDX-License-Identifier: Apache-2.0
/// HDF5's dimension scales, as netCDF-4 and h5py use them: what is stored on one object each.
/// Source: HDF5 Dimension Scale Specification; netCDF-4's use of it, "NetCDF-4/HDF5 Format".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

struct Scale {
    /// A dimension of netCDF-4 that has no variable: not a dataset for users.
    bool without_variable = false;
    std::optional<int> netcdf_id;  ///< number of the dimension in its file
};
/// None when the dataset is no dimension scale.
std::optional<Scale> scale_of(hid_t dataset, const std::string& what);

/// The address of the first scale attached to each axis (0: none); empty when there are no scales.
std::vector<haddr_t> attached_scales(hid_t dataset, const std::string& what);
/// Where a scale is attached.
struct ScaleUse {
    haddr_t dataset = 0;
    int axis = 0;
};
std::vector<ScaleUse> uses_of_scale(hid_t scale, const std::string& what);
/// h5py's dims[i].label; empty when there are none.
std::vector<std::string> axis_labels(hid_t dataset, const std::string& what);

}  // namespace fluvial::store
