// SPDX-License-Identifier: Apache-2.0
// The guard is not in the way of sound files: what is read with it is what is read without it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/hdf5/file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

/// What a file says of itself, and all of its numbers, as text.
std::string content_of(const std::string& path, const char* guard) {
    ::setenv("FLUVIAL_HDF5_GUARD", guard, 1);
    const auto file = open_hdf5(path);
    std::string said = text(file->format(), " ", file->attributes().size(), "\n");
    for (const std::string& name : file->names()) {
        if (file->unreadable().contains(name)) {
            said += text(name, ": ", file->unreadable().at(name), "\n");
            continue;
        }
        const auto dataset = file->dataset(name);
        const Region all = whole(dataset->shape());
        const std::size_t element = size_of(dataset->dtype());
        std::vector<std::byte> values(static_cast<std::size_t>(all.volume()) * element);
        dataset->read(all, {values.data(), dataset->dtype(), all.extent,
                            contiguous_strides(all.extent, element)});
        said +=
            text(name, " ", dataset->shape(), " ", dataset->attributes().size(), ": ",
                 std::string(reinterpret_cast<const char*>(values.data()), values.size()), "\n");
    }
    ::unsetenv("FLUVIAL_HDF5_GUARD");
    return said;
}

/// A file that this libhdf5 writes in the newest or the oldest form that it has.
class Written {
  public:
    explicit Written(H5F_libver_t oldest, const std::function<void(hid_t)>& fill)
        : path_((std::filesystem::temp_directory_path() /
                 text("fluvial_sound_files_test_", ::getpid(), ".h5"))
                    .string()) {
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(access, oldest, H5F_LIBVER_LATEST);
        const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
        REQUIRE(file >= 0);
        fill(file);
        H5Fclose(file);
        H5Pclose(access);
    }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;
    ~Written() { std::filesystem::remove(path_); }

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

constexpr hsize_t side = 7;

/// Writes 0, 1, 2 … ; the properties are closed.
void put(hid_t file, const char* name, hid_t properties, hid_t type, bool growing) {
    const hsize_t extent[] = {side, side}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED};
    const hid_t space = H5Screate_simple(2, extent, growing ? most : extent);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<double> values(side * side);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i);
    }
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
}

hid_t chunks(hsize_t length) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t extent[] = {length, 2};
    H5Pset_chunk(properties, 2, extent);
    return properties;
}

void datasets(hid_t file) {
    put(file, "contiguous", H5Pcreate(H5P_DATASET_CREATE), H5T_IEEE_F32BE, false);
    const hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(compact, H5D_COMPACT);
    put(file, "compact", compact, H5T_STD_I16LE, false);
    put(file, "fixed", chunks(3), H5T_STD_U8LE, false);
    put(file, "growing", chunks(3), H5T_STD_I64BE, true);
    put(file, "single", chunks(side), H5T_IEEE_F64LE, false);
    const hid_t filled = chunks(2);
    const double nothing = -1;
    H5Pset_fill_value(filled, H5T_NATIVE_DOUBLE, &nothing);
    H5Pset_shuffle(filled);
    H5Pset_fletcher32(filled);
    put(file, "filtered", filled, H5T_IEEE_F32LE, true);
    const hid_t packed = chunks(2);
    H5Pset_scaleoffset(packed, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    put(file, "scale_offset", packed, H5T_STD_I32LE, false);
}

/// Selections of every kind, in the virtual dataset and in its parts.
void virtual_dataset(hid_t file) {
    put(file, "source", H5Pcreate(H5P_DATASET_CREATE), H5T_STD_I32LE, false);
    const hsize_t extent[] = {side, side}, start[] = {0, 1}, stride[] = {2, 3}, count[] = {3, 2},
                  block[] = {1, 2}, far[] = {5, 0}, one[] = {1, 1}, row[] = {1, side};
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(2, extent, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    REQUIRE(H5Pset_virtual(properties, space, ".", "source", space) >= 0);  // regular blocks
    H5Sselect_hyperslab(space, H5S_SELECT_SET, far, one, one, one);
    const hsize_t other[] = {3, 3}, few[] = {1, 2};
    H5Sselect_hyperslab(space, H5S_SELECT_OR, other, one, one, few);  // irregular ones
    REQUIRE(H5Pset_virtual(properties, space, ".", "source", space) >= 0);
    const hsize_t first[] = {1, 0};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, one, one, row);
    const hid_t line = H5Screate_simple(1, &side, nullptr);  // all of a source that is not there
    REQUIRE(H5Pset_virtual(properties, space, "no_such_file.h5", "x%%", line) >= 0);
    H5Sselect_all(space);
    const hid_t dataset =
        H5Dcreate2(file, "virtual", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    CHECK(dataset >= 0);
    H5Dclose(dataset);
    H5Sclose(line);
    H5Sclose(space);
    H5Pclose(properties);
}

void many_names(hid_t file) {
    const hid_t scalar = H5Screate(H5S_SCALAR), nothing = H5Screate(H5S_NULL);
    const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Tcopy(H5T_STD_I32LE);
    REQUIRE(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    for (int i = 0; i < 300; ++i) {
        const std::string name = text("a name that is number ", i);
        const hid_t attribute = H5Acreate2(group, name.c_str(), i % 2 == 0 ? type : H5T_STD_I8LE,
                                           i % 3 == 0 ? nothing : scalar, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(attribute >= 0);
        H5Aclose(attribute);
        H5Dclose(
            H5Dcreate2(group, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Tclose(type);
    H5Gclose(group);
    H5Sclose(nothing);
    H5Sclose(scalar);
}

}  // namespace

TEST_CASE("files of the corpus") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLUVIAL_CORPUS)) {
        const std::string path = entry.path().string();
        CAPTURE(path);
        if (entry.path().filename().string().starts_with("valid_")) {
            CHECK(content_of(path, "on") == content_of(path, "off"));
            ++files;
        }
    }
    CHECK(files >= 8);
}

TEST_CASE("files that this libhdf5 writes, in old and in new structures") {
    for (const H5F_libver_t oldest : {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST}) {
        CAPTURE(static_cast<int>(oldest));
        for (const auto& fill : {&datasets, &virtual_dataset, &many_names}) {
            const Written file(oldest, fill);
            const std::string guarded = content_of(file.path(), "on");
            CHECK(guarded == content_of(file.path(), "off"));
            CHECK(guarded.find("cannot open") == std::string::npos);
            CHECK(guarded.size() > 150);
        }
    }
}

TEST_CASE("a word that is neither on nor off") {
    const auto valid = std::filesystem::path(FLUVIAL_CORPUS) / "valid_types.h5";
    CHECK_THROWS_WITH_AS(static_cast<void>(content_of(valid.string(), "maybe")),
                         doctest::Contains("got 'maybe'; allowed: 'on' or 'off'"), InvalidArgument);
    ::unsetenv("FLUVIAL_HDF5_GUARD");
}
