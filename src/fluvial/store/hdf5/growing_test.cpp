// SPDX-License-Identifier: Apache-2.0
// Files that a program writes so that others can read them meanwhile (SWMR); here it is this one.
#include <filesystem>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

constexpr hsize_t rows = 4, columns = 8;

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

Region record(Index number) {
    return {{number, 0, 0}, {1, Index{rows}, Index{columns}}};
}

void check_values(const Dataset& dataset, Index number) {
    const Region region = record(number);
    std::vector<float> values(rows * columns, -1);
    dataset.read(region, {reinterpret_cast<std::byte*>(values.data()), dataset.dtype(),
                          region.extent, contiguous_strides(region.extent, sizeof(float))});
    for (const float value : values) {
        REQUIRE(value == static_cast<float>(number));
    }
}

}  // namespace

TEST_CASE("records are read while more are written") {
    GrowingFile growing;
    for (Index number = 0; number < 20; ++number) {
        growing.make_room(static_cast<hsize_t>(number) + 1);
        growing.write(static_cast<hsize_t>(number));
        const auto file = open_hdf5(growing.path());
        CHECK(file->grows());
        const auto frames = file->dataset("frames");
        REQUIRE(frames->shape() == Coordinates{number + 1, Index{rows}, Index{columns}});
        CHECK(frames->unlimited() == std::vector<bool>{true, false, false});
        REQUIRE(frames->is_stored(record(number)));
        check_values(*frames, number);
        check_values(*frames, 0);
    }
    growing.close();
    const auto file = open_hdf5(growing.path());
    CHECK(!file->grows());
    check_values(*file->dataset("frames"), 19);
}

TEST_CASE("a record for which there is room is stored when all of its chunks are written") {
    GrowingFile growing;
    growing.make_room(3);
    growing.write(0);
    const auto frames = open_hdf5(growing.path())->dataset("frames");
    CHECK(frames->is_stored(record(0)));
    CHECK(!frames->is_stored(record(1)));
    CHECK(!frames->is_stored({{0, 0, 0}, {3, Index{rows}, Index{columns}}}));
    CHECK(frames->is_stored({{1, 0, 0}, {0, Index{rows}, Index{columns}}}));
    growing.write(1, rows / 2);
    const auto half = open_hdf5(growing.path())->dataset("frames");
    CHECK(half->is_stored({{1, 0, 0}, {1, Index{rows} / 2, Index{columns}}}));
    CHECK(!half->is_stored(record(1)));
    growing.write(1);
    const auto whole_record = open_hdf5(growing.path())->dataset("frames");
    CHECK(whole_record->is_stored(record(1)));
    check_values(*whole_record, 1);
    CHECK_THROWS_AS(static_cast<void>(whole_record->is_stored(record(3))), InvalidArgument);
}

TEST_CASE("what was appended after a file was opened is found where its index says") {
    GrowingFile growing;
    growing.make_room(2);
    growing.write(0);
    const auto frames = open_hdf5(growing.path())->dataset("frames");
    growing.write(1);  // beyond the end that the file had
    check_values(*frames, 0);
    if (frames->is_stored(record(1))) {  // by what of the index is in memory already
        check_values(*frames, 1);
    }
}
