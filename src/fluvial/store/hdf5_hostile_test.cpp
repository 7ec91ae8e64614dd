// SPDX-License-Identifier: Apache-2.0
// Damaged HDF5 files whose fate is known: errors, whatever libhdf5 makes of them.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/hdf5_file.hpp"

using namespace fluvial;
using namespace fluvial::store;

TEST_CASE("the corpus: valid_ files open, hostile_ ones do not, all others may") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLUVIAL_CORPUS)) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(in), {}};
        const bool opened = opens(open_hdf5, std::as_bytes(std::span(content)));
        CHECK_FALSE((name.starts_with("valid_") && !opened));
        CHECK_FALSE((name.starts_with("hostile_") && opened));
        ++files;
    }
    CHECK(files >= 16);
}

TEST_CASE("every truncation of a file is refused") {
    for (const char* name : {"valid_chunked_old.h5", "valid_groups_new.h5", "valid_netcdf.nc"}) {
        CAPTURE(name);
        std::ifstream in(std::filesystem::path(FLUVIAL_CORPUS) / name, std::ios::binary);
        const std::string whole{std::istreambuf_iterator<char>(in), {}};
        REQUIRE(opens(open_hdf5, std::as_bytes(std::span(whole))));
        for (std::size_t length = 0; length < whole.size(); length += 7) {
            CAPTURE(length);
            CHECK_FALSE(opens(open_hdf5, std::as_bytes(std::span(whole)).first(length)));
        }
    }
}
