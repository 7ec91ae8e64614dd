// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/numbered_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / text("fluvial_numbers_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    void make(const std::string& name) const { std::ofstream(path / name) << "x"; }
    std::string at(const std::string& name) const { return (path / name).string(); }

    std::filesystem::path path;
};

using Numbers = std::map<std::uint64_t, std::string>;

}  // namespace

TEST_CASE("what a number in a name looks like") {
    for (const char* name : {"data%T.h5", "data_%06T.h5", "%T", "a/%012T"}) {
        CHECK_MESSAGE(has_number(name), name);
    }
    for (const char* name : {"data.h5", "100%", "%6T", "%0T", "%0123T", "%t"}) {
        CHECK_MESSAGE(!has_number(name), name);
    }
}

TEST_CASE("what would be a number and is none is refused in names of files to write") {
    for (const char* name : {"data%6T.h5", "data%0T.h5", "data%0123T.h5", "100%/a%3T"}) {
        CHECK_THROWS_WITH_AS(check_number(name), doctest::Contains("this is no number"),
                             InvalidArgument);
    }
    for (const char* name : {"data%T.h5", "data%06T.h5", "100%.h5", "50%Type.h5", "a%6t.h5"}) {
        CHECK_NOTHROW(check_number(name));
    }
}

TEST_CASE("files are found by their numbers, in ascending order") {
    const Folder folder;
    for (const char* name : {"d10.h5", "d9.h5", "d7.h5.part", "dx.h5", "d.h5", "d-1.h5", "e3.h5"}) {
        folder.make(name);
    }
    CHECK(numbered_files(folder.at("d%T.h5")) ==
          Numbers{{9, folder.at("d9.h5")}, {10, folder.at("d10.h5")}});
    folder.make("d0009.h5");
    CHECK_THROWS_WITH_AS(numbered_files(folder.at("d%T.h5")),
                         doctest::Contains("two files have the number 9"), InvalidArgument);
    CHECK(numbered_files(folder.at("d%04T.h5")) == Numbers{{9, folder.at("d0009.h5")}});
}

TEST_CASE("patterns that cannot be used, and none that fits") {
    const Folder folder;
    for (const char* name : {"d%T_%T.h5", "%T/d%T.h5", "d.h5"}) {
        CHECK_THROWS_AS(numbered_files(folder.at(name)), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(numbered_files(folder.at("d%T.h5")), doctest::Contains("no such files"),
                         SystemError);
    CHECK_THROWS_AS(numbered_files(folder.at("none/d%T.h5")), SystemError);
}
