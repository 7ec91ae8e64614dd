// SPDX-License-Identifier: Apache-2.0
/// A file that this process writes so that others can read it meanwhile (SWMR).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

inline constexpr hsize_t rows = 4, columns = 8;

/// Writes records of 4 by 8 float32, in chunks of half a record, whose elements are the record's
/// number.
class GrowingFile {
  public:
    GrowingFile()
        : path_((std::filesystem::temp_directory_path() /
                 text("fluvial_hdf5_growing_test_", ::getpid(), ".h5"))
                    .string()) {
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
        const hsize_t extent[3] = {0, rows, columns}, most[3] = {H5S_UNLIMITED, rows, columns};
        const hsize_t chunk[3] = {1, rows / 2, columns};
        const hid_t space = H5Screate_simple(3, extent, most);
        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(properties, 3, chunk);
        frames_ = H5Dcreate2(file_, "frames", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties,
                             H5P_DEFAULT);
        H5Pclose(properties);
        H5Sclose(space);
        H5Pclose(access);
        REQUIRE(H5Fstart_swmr_write(file_) >= 0);
    }
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;
    ~GrowingFile() {
        close();
        std::filesystem::remove(path_);
    }

    const std::string& path() const { return path_; }

    void make_room(hsize_t records) {
        const hsize_t extent[3] = {records, rows, columns};
        REQUIRE(H5Dset_extent(frames_, extent) >= 0);
        REQUIRE(H5Dflush(frames_) >= 0);
    }
    void write(hsize_t record, hsize_t n_rows = rows) {
        const hsize_t offset[3] = {record, 0, 0}, extent[3] = {1, n_rows, columns};
        const hid_t space = H5Dget_space(frames_);
        const hid_t memory = H5Screate_simple(3, extent, nullptr);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, nullptr, extent, nullptr);
        const std::vector<float> values(n_rows * columns, static_cast<float>(record));
        REQUIRE(H5Dwrite(frames_, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data()) >=
                0);
        REQUIRE(H5Dflush(frames_) >= 0);
        H5Sclose(memory);
        H5Sclose(space);
    }
    void close() {
        if (file_ >= 0) {
            H5Dclose(frames_);
            H5Fclose(file_);
            file_ = -1;
        }
    }

  private:
    std::string path_;
    hid_t file_ = -1, frames_ = -1;
};

}  // namespace fluvial::store
