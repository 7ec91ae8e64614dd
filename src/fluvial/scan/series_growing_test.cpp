// SPDX-License-Identifier: Apache-2.0
// HDF5 that another program writes for its readers (SWMR), followed: each whole record is a step.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/store/hdf5/growing_file_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::columns;
using store::rows;

namespace {

Series follow(const std::string& path, double seconds) {
    SeriesOptions options;
    options.follow = true;
    options.stream.step_timeout_s = seconds;
    return {path, mpi::Comm(), options};
}

void check_step(const std::optional<SeriesStep>& step, std::uint64_t number) {
    REQUIRE(step.has_value());
    CHECK(step->index() == number);
    const compute::Array frame = step->read("frames");
    REQUIRE(frame.shape == Coordinates{Index{rows}, Index{columns}});
    CHECK(frame.as<float>()[0] == static_cast<float>(number));
    CHECK(frame.as<float>()[rows * columns - 1] == static_cast<float>(number));
}

}  // namespace

TEST_CASE("records are steps as they are written, and the end is when the file is closed") {
    store::GrowingFile growing;
    Series series = follow(growing.path(), 60);
    for (std::uint64_t number = 0; number < 5; ++number) {
        growing.make_room(number + 1);
        growing.write(number);
        check_step(series.next(), number);
    }
    growing.close();
    CHECK_FALSE(series.next());
}

TEST_CASE("a pattern gives the same records, and the end by a file alone") {
    store::GrowingFile growing;
    SeriesOptions options;
    options.follow = true;
    options.until = growing.path() + ".done";
    const std::string stem = growing.path().substr(0, growing.path().size() - 3);
    Series series(stem + "*.h5", mpi::Comm(), options);
    for (std::uint64_t number = 0; number < 3; ++number) {
        growing.make_room(number + 1);
        growing.write(number);
        check_step(series.next(), number);
    }
    growing.close();
    CHECK_THROWS_AS(series.next(0.3), TimedOut);
    std::ofstream(options.until) << "";
    CHECK_FALSE(series.next());
    std::filesystem::remove(options.until);
}

TEST_CASE("what is written only in part is no step") {
    store::GrowingFile growing;
    growing.make_room(3);
    growing.write(0);
    growing.write(1, rows / 2);
    Series series = follow(growing.path(), 0.5);
    check_step(series.next(), 0);
    CHECK_THROWS_AS(series.next(), TimedOut);
    growing.write(1);
    check_step(series.next(), 1);
}
