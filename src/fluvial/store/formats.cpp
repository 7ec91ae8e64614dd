// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/formats.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/file.hpp"
#include "fluvial/store/hdf5_signature.hpp"
#include "fluvial/store/netcdf_classic.hpp"
#include "fluvial/store/zarr/file.hpp"

namespace fluvial::store {

#ifdef FLUVIAL_WITH_HDF5
#define FLUVIAL_HDF5_NAME "HDF5 (netCDF-4, openPMD)"
#else
#define FLUVIAL_HDF5_NAME "HDF5 (left out of this build)"

std::shared_ptr<const File> open_hdf5(const std::string& path) {
    throw InvalidArgument(
        Problem{"cannot open '" + path + "'",
                "an HDF5 file (as netCDF-4 and openPMD are), and Fluvial was built without HDF5",
                "the other formats",
                "Build Fluvial with -DFLUVIAL_HDF5=ON, or convert netCDF-4 by nccopy -k cdf5"});
}
#endif

namespace {

constexpr Format table[] = {
    {"netCDF classic (CDF-1, CDF-2, CDF-5)", is_netcdf_classic, open_netcdf_classic},
    {FLUVIAL_HDF5_NAME, is_hdf5, open_hdf5},
};

constexpr FolderFormat folder_table[] = {
    {"Zarr (versions 2 and 3)", is_zarr, open_zarr},
};

}  // namespace

std::span<const Format> formats() {
    return table;
}

std::span<const FolderFormat> folder_formats() {
    return folder_table;
}

std::shared_ptr<const File> open_file(const std::string& path) {
    std::string names;
    for (const FolderFormat& format : folder_formats()) {
        if (format.recognises(path)) {
            return format.open(path);
        }
    }
    {
        const InputFile file(path);
        for (const Format& format : formats()) {
            if (format.recognises(file)) {
                return format.open(path);
            }
            names += (names.empty() ? "" : ", ") + std::string(format.name);
        }
        if (file.size() == 0) {
            throw InvalidArgument(Problem{"cannot open '" + path + "'", "an empty file", names,
                                          "Let its writer finish"});
        }
    }
    throw InvalidArgument(Problem{"the format of '" + path + "' is unknown",
                                  "first bytes of no format that is known here", names,
                                  "Raw binary needs its layout stated: open_raw() in C++, "
                                  "fluvial.open(…, raw=…) in Python"});
}

}  // namespace fluvial::store
