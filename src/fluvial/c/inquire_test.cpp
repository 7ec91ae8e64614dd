// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/c/object_io_fixture.hpp"

using namespace fluvial::c;

extern "C" const char* use_everything_in_c(MPI_Comm comm, const char* path);

TEST_CASE("files that are missing or damaged are codes, too") {
    fluvial_file* file = nullptr;
    CHECK(fluvial_open(MPI_COMM_WORLD, "/nowhere/t.nc", MPI_INFO_NULL, &file) == FLUVIAL_ESYSTEM);
    CHECK(std::strstr(fluvial_last_message(), "/nowhere/t.nc") != nullptr);
    CHECK(fluvial_open(MPI_COMM_NULL, "t.nc", MPI_INFO_NULL, &file) == FLUVIAL_EINVAL);
    CHECK(fluvial_open(MPI_COMM_WORLD, nullptr, MPI_INFO_NULL, &file) == FLUVIAL_EINVAL);
    CHECK(fluvial_close(nullptr) == FLUVIAL_OK);
    auto bytes = known_file();
    bytes.resize(40);
    {
        const SharedFile cut(bytes);
        CHECK(fluvial_open(MPI_COMM_WORLD, cut.path().c_str(), MPI_INFO_NULL, &file) ==
              FLUVIAL_EFILE);
    }
    for (int code = FLUVIAL_EPEER; code <= FLUVIAL_OK; ++code) {
        for (int other = FLUVIAL_EPEER; other < code; ++other) {
            CHECK(std::string(fluvial_strerror(code)) != fluvial_strerror(other));
        }
    }
}

TEST_CASE("C99 uses all of it") {
    const SharedFile shared(known_file());
    const char* const wrong = use_everything_in_c(MPI_COMM_WORLD, shared.path().c_str());
    CHECK(std::string(wrong == nullptr ? "nothing" : wrong) == "nothing");
}
