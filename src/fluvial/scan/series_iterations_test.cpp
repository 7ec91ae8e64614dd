// SPDX-License-Identifier: Apache-2.0
// Of openPMD; which groups are iterations is what store/iterations_test.cpp is about.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/series.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr hsize_t elements = 3;

/// Writes /data/NUMBER/meshes/rho with the elements NUMBER, NUMBER + 1 and NUMBER + 2 for each.
void write_openpmd(const std::string& path, const std::vector<int>& numbers) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t parents = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(parents, 1);
    const hid_t words = H5Tcopy(H5T_C_S1);
    const hid_t one = H5Screate(H5S_SCALAR);
    const std::string version = "1.1.0";
    H5Tset_size(words, version.size());
    const hid_t attribute = H5Acreate2(file, "openPMD", words, one, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(attribute, words, version.data()) >= 0);
    H5Aclose(attribute);
    const hid_t space = H5Screate_simple(1, &elements, nullptr);
    for (const int number : numbers) {
        const double values[elements] = {number + 0.0, number + 1.0, number + 2.0};
        const std::string name = text("/data/", number, "/meshes/rho");
        const hid_t rho = H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, parents,
                                     H5P_DEFAULT, H5P_DEFAULT);
        REQUIRE(H5Dwrite(rho, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Dclose(rho);
    }
    H5Sclose(space);
    H5Sclose(one);
    H5Tclose(words);
    H5Pclose(parents);
    H5Fclose(file);
}

struct Folder {
    Folder()
        : path(std::filesystem::temp_directory_path() / text("fluvial_iterations_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string at(const std::string& name) const { return (path / name).string(); }
    std::filesystem::path path;
};

/// Numbers of the steps, and the sum of rho in each.
std::vector<double> analysed(Series& series) {
    std::vector<double> found;
    while (const auto step = series.next()) {
        found.push_back(static_cast<double>(step->index()));
        const Reduced reduced = step->variable("meshes/rho").reduce({"sum"});
        found.push_back(reduced.results.at("sum").at("value").as<double>()[0]);
    }
    return found;
}

const std::vector<double> expected = {20, 63, 100, 303};

}  // namespace

TEST_CASE("iterations of one file, and of a file for each") {
    const Folder folder;
    write_openpmd(folder.at("run.h5"), {100, 20});
    SeriesOptions options;
    options.engine = "hdf5";
    Series one(folder.at("run.h5"), mpi::Comm(), options);
    CHECK(one.size() == 2);
    CHECK(analysed(one) == expected);
    CHECK(one.at(1).read("meshes/rho").as<double>()[2] == 102);
    CHECK(one.variable("data/20/meshes/rho").shape() == Coordinates{Index{elements}});
    for (const int number : {100, 20}) {
        write_openpmd(folder.at(text("d", number, ".h5")), {number});
    }
    Series several(folder.at("d%T.h5"), mpi::Comm());
    CHECK(analysed(several) == expected);
    CHECK_THROWS_WITH_AS(Series(folder.at("d*.h5"), mpi::Comm()),
                         doctest::Contains("files of openPMD are not joined: got 2 of them"),
                         InvalidArgument);
}

TEST_CASE("numbered files have one iteration each, and one file may have none yet") {
    const Folder folder;
    write_openpmd(folder.at("d1.h5"), {1, 2});
    Series several(folder.at("d%T.h5"), mpi::Comm());
    CHECK_THROWS_WITH_AS(several.next(), doctest::Contains("no file of one iteration"),
                         DamagedFile);
    write_openpmd(folder.at("none.h5"), {});
    Series none(folder.at("none.h5"), mpi::Comm());
    CHECK_FALSE(none.next());
    CHECK_THROWS_WITH_AS(none.at(0), doctest::Contains("no steps"), InvalidArgument);
}
