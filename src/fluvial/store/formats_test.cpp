// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/formats.hpp"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <tuple>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/memory_file.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

std::shared_ptr<const File> open(std::string_view bytes) {
    const MemoryFile file(std::as_bytes(std::span(bytes)));
    return open_file(file.path());
}

}  // namespace

TEST_CASE("a file is opened by its first bytes") {
    for (const int version : {1, 2, 5}) {
        const MemoryFile file(ClassicFixture{version, 0}.build());
        CHECK(open_file(file.path())->format() == text("netCDF classic (CDF-", version, ")"));
    }
}

TEST_CASE("HDF5 is known also by a build that leaves it out, and refused with a remedy") {
    using namespace std::string_view_literals;
    const std::string damaged = std::string("\x89HDF\r\n\x1a\n"sv) + std::string(100, '\0');
#ifdef FLUVIAL_WITH_HDF5
    CHECK_THROWS_AS(open(damaged), DamagedFile);
#else
    CHECK_THROWS_WITH_AS(open(damaged), doctest::Contains("-DFLUVIAL_HDF5=ON"), InvalidArgument);
#endif
}

TEST_CASE("what is none of the formats is refused, listing them") {
    using namespace std::string_view_literals;
    for (const std::string_view bytes :
         {"GRIB\0\0\0\2"sv, "CDF\3\0\0\0\0"sv, "CDF"sv, "C"sv, "\x89HDX\r\n\x1a\n"sv}) {
        for (const Format& format : formats()) {
            CHECK_THROWS_WITH_AS(open(bytes), doctest::Contains(std::string(format.name).c_str()),
                                 InvalidArgument);
        }
    }
    CHECK_THROWS_WITH_AS(open(""), doctest::Contains("an empty file"), InvalidArgument);
    CHECK_THROWS_WITH_AS(open_file("/proc"), doctest::Contains("a directory"), InvalidArgument);
    CHECK_THROWS_AS(open_file("/nowhere/t.nc"), SystemError);
}

TEST_CASE("folders that Python reads are refused with the way to read them") {
    const std::string path = text("/tmp/fluvial-formats-folder-", ::getpid());
    std::filesystem::create_directory(path);
    std::ofstream(path + "/md.idx") << "{}";
    CHECK_THROWS_WITH_AS(open_file(path), doctest::Contains("a folder of BP"), InvalidArgument);
    CHECK_THROWS_WITH_AS(
        open_file(path),
        doctest::Contains(
            text("Python reads it: fluvial.open('", path, "'); and `fluvial pipe").c_str()),
        InvalidArgument);
    std::filesystem::remove_all(path);
}

TEST_CASE("a folder is opened by what is in it") {
    const std::string path = text("/tmp/fluvial-formats-zarr-", ::getpid());
    for (const auto& [mark, content, format] :
         {std::tuple("zarr.json", R"({"zarr_format": 3, "node_type": "group"})",
                     "Zarr (version 3)"),
          std::tuple(".zgroup", R"({"zarr_format": 2})", "Zarr (version 2)"),
          std::tuple(".zmetadata", R"({"metadata": {".zgroup": {"zarr_format": 2}}})",
                     "Zarr (version 2)")}) {
        std::filesystem::create_directory(path);
        std::ofstream(path + "/" + mark) << content;
        CHECK(open_file(path)->format() == format);
        CHECK(open_file(path + "/")->names().empty());
        std::filesystem::remove_all(path);
    }
}

TEST_CASE("a pipe is refused at once, though no process writes into it") {
    const std::string path = text("/tmp/fluvial-formats-test-", ::getpid());
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(open_file(path), doctest::Contains("no regular file"), InvalidArgument);
    ::unlink(path.c_str());
}
