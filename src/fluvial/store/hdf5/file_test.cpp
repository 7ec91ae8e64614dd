// SPDX-License-Identifier: Apache-2.0
// Against files that this test makes with libhdf5. Files of h5py, netCDF4 and openPMD-api are
// compared in Python.
#include "fluvial/store/hdf5/file.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/format_conformance.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

const TestSeed seed(20240620);
constexpr hsize_t extent[2] = {37, 50}, chunk[2] = {10, 16};

/// A file with one dataset "x" of float32 whose element i is i / 2; gone with this object.
class Sample {
  public:
    enum class Kind { Contiguous, Unallocated, Compact, Deflated, UnfilteredEdges, ScaleOffset };

    explicit Sample(Kind kind, hid_t type = H5T_IEEE_F32BE)
        : path_((std::filesystem::temp_directory_path() /
                 text("fluvial_hdf5_test_", ::getpid(), ".h5"))
                    .string()) {
        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        const float fill = -3;
        H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &fill);
        if (kind == Kind::Compact) {
            H5Pset_layout(properties, H5D_COMPACT);
        } else if (kind > Kind::Compact) {
            H5Pset_chunk(properties, 2, chunk);
        }
        if (kind == Kind::Deflated || kind == Kind::UnfilteredEdges) {
            H5Pset_shuffle(properties);
            H5Pset_deflate(properties, 6);
            H5Pset_fletcher32(properties);
        } else if (kind == Kind::ScaleOffset) {
            H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 1);
        }
        if (kind == Kind::UnfilteredEdges) {
            H5Pset_chunk_opts(properties, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
        }
        write(properties, type, kind != Kind::Unallocated);
    }
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;
    ~Sample() { std::filesystem::remove(path_); }

    const std::string& path() const { return path_; }

  private:
    void write(hid_t properties, hid_t type, bool with_data) {
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
        const hid_t space = H5Screate_simple(2, extent, nullptr);
        const hid_t x = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        std::vector<float> values(extent[0] * extent[1]);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i) / 2;
        }
        REQUIRE(x >= 0);
        if (with_data) {
            REQUIRE(H5Dwrite(x, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
                    0);
        }
        H5Dclose(x);
        H5Sclose(space);
        H5Pclose(properties);
        H5Pclose(access);
        H5Fclose(file);
    }

    std::string path_;
};

std::vector<float> values_of(const Dataset& dataset) {
    std::vector<float> values(static_cast<std::size_t>(volume_of(dataset.shape())));
    dataset.read(whole(dataset.shape()),
                 {reinterpret_cast<std::byte*>(values.data()), dataset.dtype(), dataset.shape(),
                  contiguous_strides(dataset.shape(), sizeof(float))});
    return values;
}

}  // namespace

TEST_CASE("every layout has the values that were written, whole and in parts") {
    using Kind = Sample::Kind;
    for (const Kind kind : {Kind::Contiguous, Kind::Unallocated, Kind::Compact, Kind::Deflated,
                            Kind::UnfilteredEdges, Kind::ScaleOffset}) {
        CAPTURE(static_cast<int>(kind));
        const Sample sample(kind);
        const auto dataset = open_file(sample.path())->dataset("x");  // outlives its File
        CHECK(dataset->dtype() == DType::Float32);
        CHECK(std::holds_alternative<Affine>(dataset->layout()) == (kind == Kind::Contiguous));
        CHECK(std::holds_alternative<ByLibrary>(dataset->layout()) ==
              (kind == Kind::Compact || kind == Kind::ScaleOffset));
        const auto values = values_of(*dataset);
        for (std::size_t i = 0; i < values.size(); ++i) {
            REQUIRE(values[i] == (kind == Kind::Unallocated ? -3.0F : static_cast<float>(i) / 2));
        }
        FormatConformance(*dataset, seed).run();
    }
}

TEST_CASE("chunks without filters at the edges are marked so") {
    const Sample sample(Sample::Kind::UnfilteredEdges);
    const auto dataset = open_hdf5(sample.path())->dataset("x");
    CHECK(dataset->locate({0, 0}).filters_left_out == 0);
    CHECK(dataset->locate({3, 0}).filters_left_out == 0xffffffffU);
    CHECK(dataset->locate({0, 3}).filters_left_out == 0xffffffffU);
    CHECK(dataset->locate({0, 3}).bytes == 10 * 16 * sizeof(float));
    CHECK_THROWS_AS(dataset->locate({4, 0}), InvalidArgument);
    CHECK_THROWS_AS(dataset->locate({0, -1}), InvalidArgument);
    CHECK_THROWS_AS(dataset->locate({0}), InvalidArgument);
}

TEST_CASE("the application's own printing of HDF5's errors stays as it is") {
    const Sample sample(Sample::Kind::Contiguous);
    const auto file = open_hdf5(sample.path());
    H5E_auto2_t printer = nullptr;
    void* data = nullptr;
    REQUIRE(H5Eget_auto2(H5E_DEFAULT, &printer, &data) >= 0);
    CHECK((printer != nullptr));
    CHECK_THROWS_AS(file->dataset("absent"), InvalidArgument);
    H5E_auto2_t after = nullptr;
    REQUIRE(H5Eget_auto2(H5E_DEFAULT, &after, &data) >= 0);
    CHECK((after == printer));
}

TEST_CASE("nothing of HDF5 stays open") {
    const Sample sample(Sample::Kind::Deflated);
    const auto before = H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL);
    {
        const auto file = open_hdf5(sample.path());
        const auto again = open_hdf5(sample.path());
        const auto dataset = file->dataset("x");
        CHECK(values_of(*dataset) == values_of(*again->dataset("x")));
        CHECK(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) > before);
    }
    CHECK(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == before);
}

TEST_CASE("datasets of several files from several threads") {
    const Sample sample(Sample::Kind::Deflated);
    const auto expected = values_of(*open_hdf5(sample.path())->dataset("x"));
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                right += values_of(*open_hdf5(sample.path())->dataset("x")) == expected ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(right == 80);
}
