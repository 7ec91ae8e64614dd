// SPDX-License-Identifier: Apache-2.0
/// The named dimensions of an HDF5 file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/store/file.hpp"
#include "fluvial/store/hdf5/contents.hpp"

namespace fluvial::store {

/// Before the name of a variable of netCDF-4 that is called like a dimension and is not its
/// coordinate, as the file has it.
inline constexpr std::string_view netcdf4_no_coordinate = "_nc4_non_coord_";

class Hdf5Dimensions {
  public:
    Hdf5Dimensions() = default;
    /// From the dimension scales among the entries; reads of the file what they are attached to.
    /// `netcdf`: the file says that it is one of netCDF-4.
    Hdf5Dimensions(hid_t file, const std::vector<Hdf5Entry>& entries, bool netcdf);

    /// netCDF-4's own order, or that of the entries.
    const std::vector<Dimension>& list() const { return list_; }
    /// Whether the file says so, or netCDF-4 has left its marks on any.
    bool netcdf() const { return netcdf_; }
    /// A name an axis of the dataset, empty where there is none. `object` is the open dataset.
    /// Throws DamagedFile for a variable of netCDF-4 along a dimension that cannot be opened,
    /// without which its length is not known.
    std::vector<std::string> names_of(const Hdf5Entry& entry, hid_t object) const;
    /// The dataset's shape as netCDF-4 has it: as long as its unlimited dimensions.
    Coordinates shape_of(const Hdf5Entry& entry) const;

  private:
    struct Known {
        std::string name;  ///< without path
        Index length = 0;
    };
    std::map<haddr_t, Known> by_address_;
    std::map<int, haddr_t> by_netcdf_id_;
    std::map<haddr_t, Coordinates> longer_;  ///< shapes of datasets that lag behind
    std::vector<Dimension> list_;
    bool netcdf_ = false, damaged_ = false;
};

/// From openPMD's axisLabels, of the dataset itself or its record, slowest axis first.
std::vector<std::string> openpmd_axis_labels(hid_t file, const Hdf5Entry& entry, hid_t object);

}  // namespace fluvial::store
