// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/file_names.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/finer_errors.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Paths = std::vector<std::string>;

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / text("fluvial_names_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    void make(const std::string& name) const { std::ofstream(path / name) << "x"; }
    std::string at(const std::string& name) const { return (path / name).string(); }

    std::filesystem::path path;
};

}  // namespace

TEST_CASE("a pattern is the files that it fits, sorted by name") {
    const Folder folder;
    for (const char* name : {"t_10.nc", "t_2.nc", "T_1.nc", "t_1.nc", "u_1.nc", ".t_0.nc"}) {
        folder.make(name);
    }
    CHECK(FileNames(folder.at("t_*.nc")).paths() ==
          Paths{folder.at("t_1.nc"), folder.at("t_10.nc"), folder.at("t_2.nc")});
    CHECK(
        FileNames(folder.at("?_[12].nc")).paths() ==
        Paths{folder.at("T_1.nc"), folder.at("t_1.nc"), folder.at("t_2.nc"), folder.at("u_1.nc")});
    CHECK(FileNames(folder.at("t_*.nc")).several());
    CHECK_FALSE(FileNames(folder.at("t_1.nc")).several());
}

TEST_CASE("a list keeps its order, and may have patterns") {
    const Folder folder;
    for (const char* name : {"a.nc", "b1.nc", "b2.nc"}) {
        folder.make(name);
    }
    const FileNames names = {folder.at("b*.nc"), folder.at("a.nc"), "not there.nc"};
    CHECK(names.paths() ==
          Paths{folder.at("b1.nc"), folder.at("b2.nc"), folder.at("a.nc"), "not there.nc"});
    CHECK(names.is_list());
    CHECK(names.said() == folder.at("b*.nc") + ", " + folder.at("a.nc") + ", not there.nc");
    const FileNames two = {"jan.nc", "feb.nc"};
    CHECK(two.paths() == Paths{"jan.nc", "feb.nc"});
    CHECK(FileNames(std::vector<std::string>{"x.nc"}).paths() == Paths{"x.nc"});
}

TEST_CASE("a file whose name looks like a pattern is that file") {
    const Folder folder;
    folder.make("t[1].nc");
    folder.make("t1.nc");
    folder.make("back\\slash1");
    CHECK(FileNames(folder.path / "t[1].nc").paths() == Paths{folder.at("t[1].nc")});
    CHECK(FileNames(folder.at("back\\slash?")).paths() == Paths{folder.at("back\\slash1")});
}

TEST_CASE("patterns that fit nothing, and empty lists") {
    CHECK_THROWS_WITH_AS(FileNames("/nowhere/*.nc").paths(),
                         doctest::Contains("no such files: got '/nowhere/*.nc'"), NoSuchFile);
    CHECK_THROWS_AS(FileNames(Paths{}).paths(), InvalidArgument);
}

TEST_CASE("the address of a stream's writer is no pattern, whatever numbers its host has") {
    CHECK(!FileNames("fluvial://[fd00::1]:40000/run").several());
}
