// SPDX-License-Identifier: Apache-2.0
// Files that this test makes; those of openPMD's own library are compared in Python.
#include "fluvial/store/iterations.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

/// A file of HDF5 that is made piece by piece; gone with this object.
class Sample {
  public:
    Sample()
        : path_((std::filesystem::temp_directory_path() /
                 text("fluvial_iterations_test_", ::getpid(), ".h5"))
                    .string()),
          file_(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
          parents_(H5Pcreate(H5P_LINK_CREATE)) {
        H5Pset_create_intermediate_group(parents_, 1);
    }
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;
    ~Sample() {
        close();
        std::filesystem::remove(path_);
    }

    Sample& group(const char* path) {
        H5Gclose(H5Gcreate2(file_, path, parents_, H5P_DEFAULT, H5P_DEFAULT));
        return *this;
    }
    /// Of one element.
    Sample& dataset(const char* path, double value) {
        const hid_t space = H5Screate(H5S_SCALAR);
        const hid_t x =
            H5Dcreate2(file_, path, H5T_NATIVE_DOUBLE, space, parents_, H5P_DEFAULT, H5P_DEFAULT);
        REQUIRE(H5Dwrite(x, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0);
        H5Dclose(x);
        H5Sclose(space);
        return *this;
    }
    Sample& words(const char* object, const char* name, const std::string& value) {
        const hid_t type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, value.size());
        attribute(object, name, type, value.data());
        H5Tclose(type);
        return *this;
    }
    Sample& number(const char* object, const char* name, double value) {
        attribute(object, name, H5T_NATIVE_DOUBLE, &value);
        return *this;
    }
    Sample& number(const char* object, const char* name, std::uint64_t value) {
        attribute(object, name, H5T_NATIVE_UINT64, &value);
        return *this;
    }

    std::shared_ptr<const File> open() {
        close();
        return open_file(path_);
    }

  private:
    void attribute(const char* object, const char* name, hid_t type, const void* value) {
        const hid_t space = H5Screate(H5S_SCALAR);
        const hid_t made = H5Acreate_by_name(file_, object, name, type, space, H5P_DEFAULT,
                                             H5P_DEFAULT, H5P_DEFAULT);
        REQUIRE(H5Awrite(made, type, value) >= 0);
        H5Aclose(made);
        H5Sclose(space);
    }
    void close() {
        if (file_ >= 0) {
            H5Pclose(parents_);
            H5Fclose(file_);
            file_ = H5I_INVALID_HID;
        }
    }

    std::string path_;
    hid_t file_, parents_;
};

double value_of(const Iteration& iteration, const std::string& name) {
    const auto dataset = iteration.contents->dataset(name);
    double value = 0;
    dataset->read(whole(dataset->shape()),
                  {reinterpret_cast<std::byte*>(&value), DType::Float64, {}, {}});
    return value;
}

}  // namespace

TEST_CASE("iterations of one file come in the order of their numbers") {
    Sample sample;
    sample.words("/", "openPMD", "1.1.0").words("/", "basePath", "/data/%T/");
    sample.dataset("/data/100/meshes/E/x", 1).dataset("/data/9/meshes/E/x", 2);
    sample.dataset("/data/9/particles/e/w", 3).group("/data/1000").dataset("/notes/x", 4);
    sample.dataset("/data/9th/x", 5);
    sample.number("/data/9", "time", 0.5).number("/data/9/meshes/E", "unitDimension", 1.0);
    const auto iterations = iterations_of(sample.open());
    REQUIRE(iterations.size() == 3);
    CHECK(iterations[0].index == 9);
    CHECK(iterations[1].index == 100);
    CHECK(iterations[2].index == 1000);
    const File& first = *iterations[0].contents;
    CHECK(first.names() == std::vector<std::string>{"meshes/E/x", "particles/e/w"});
    CHECK(std::get<double>(first.attributes().at("time")) == 0.5);
    CHECK(first.group_attributes("meshes/E").contains("unitDimension"));
    CHECK(first.dataset("meshes/E/x")->attributes().contains("unitDimension"));
    CHECK(value_of(iterations[0], "meshes/E/x") == 2);
    CHECK(value_of(iterations[1], "meshes/E/x") == 1);
    CHECK(iterations[2].contents->names().empty());
    CHECK_THROWS_WITH_AS(first.dataset("meshes/E/y"), doctest::Contains("meshes/E/x"),
                         InvalidArgument);
    CHECK_THROWS_AS(first.group_attributes("meshes/B"), InvalidArgument);
}

TEST_CASE("a single iteration may have no group of its own") {
    Sample sample;
    sample.words("/", "openPMD", "1.1.0").words("/", "basePath", "/data");
    sample.words("/", "iterationEncoding", "variableBased").dataset("/data/meshes/rho", 7);
    sample.number("/data", "snapshot", std::uint64_t{12});
    const auto iterations = iterations_of(sample.open());
    REQUIRE(iterations.size() == 1);
    CHECK(iterations[0].index == 12);
    CHECK(value_of(iterations[0], "meshes/rho") == 7);
}

TEST_CASE("groups of one number are refused") {
    Sample sample;
    sample.words("/", "openPMD", "1.1.0").dataset("/data/1/x", 1).dataset("/data/01/x", 2);
    CHECK_THROWS_WITH_AS(iterations_of(sample.open()), doctest::Contains("iteration 1 twice"),
                         DamagedFile);
}

TEST_CASE("what is not openPMD has no iterations") {
    Sample sample;
    CHECK_THROWS_WITH_AS(iterations_of(sample.dataset("/data/1/x", 1).open()),
                         doctest::Contains("no iterations"), InvalidArgument);
    Sample odd;
    odd.words("/", "openPMD", "1.1.0").words("/", "basePath", "/run%d/");
    CHECK_THROWS_WITH_AS(iterations_of(odd.open()), doctest::Contains("/run%d/"), InvalidArgument);
}

TEST_CASE("numbers beyond 64 bits are no iterations") {
    Sample sample;
    sample.words("/", "openPMD", "1.1.0").dataset("/data/99999999999999999999/x", 1);
    CHECK(iterations_of(sample.open()).empty());
}
