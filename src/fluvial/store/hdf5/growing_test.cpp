// SPDX-License-Identifier: Apache-2.0
// Files that a program writes so that others can read them meanwhile (SWMR); here it is this one.
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/file.hpp"
#include "fluvial/store/hdf5/growing_file_fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

Region record(Index number) {
    return {{number, 0, 0}, {1, Index{rows}, Index{columns}}};
}

void check_values(const Dataset& dataset, Index number) {
    const Region region = record(number);
    std::vector<float> values(rows * columns, -1);
    dataset.read(region, {reinterpret_cast<std::byte*>(values.data()), dataset.dtype(),
                          region.extent, contiguous_strides(region.extent, sizeof(float))});
    for (const float value : values) {
        REQUIRE(value == static_cast<float>(number));
    }
}

}  // namespace

TEST_CASE("records are read while more are written") {
    GrowingFile growing;
    for (Index number = 0; number < 20; ++number) {
        growing.make_room(static_cast<hsize_t>(number) + 1);
        growing.write(static_cast<hsize_t>(number));
        const auto file = open_hdf5(growing.path());
        CHECK(file->grows());
        const auto frames = file->dataset("frames");
        REQUIRE(frames->shape() == Coordinates{number + 1, Index{rows}, Index{columns}});
        CHECK(frames->unlimited() == std::vector<bool>{true, false, false});
        REQUIRE(frames->is_stored(record(number)));
        check_values(*frames, number);
        check_values(*frames, 0);
    }
    growing.close();
    const auto file = open_hdf5(growing.path());
    CHECK(!file->grows());
    check_values(*file->dataset("frames"), 19);
}

TEST_CASE("a record for which there is room is stored when all of its chunks are written") {
    GrowingFile growing;
    growing.make_room(3);
    growing.write(0);
    const auto frames = open_hdf5(growing.path())->dataset("frames");
    CHECK(frames->is_stored(record(0)));
    CHECK(!frames->is_stored(record(1)));
    CHECK(!frames->is_stored({{0, 0, 0}, {3, Index{rows}, Index{columns}}}));
    CHECK(frames->is_stored({{1, 0, 0}, {0, Index{rows}, Index{columns}}}));
    growing.write(1, rows / 2);
    const auto half = open_hdf5(growing.path())->dataset("frames");
    CHECK(half->is_stored({{1, 0, 0}, {1, Index{rows} / 2, Index{columns}}}));
    CHECK(!half->is_stored(record(1)));
    growing.write(1);
    const auto whole_record = open_hdf5(growing.path())->dataset("frames");
    CHECK(whole_record->is_stored(record(1)));
    check_values(*whole_record, 1);
    CHECK_THROWS_AS(static_cast<void>(whole_record->is_stored(record(3))), InvalidArgument);
}

TEST_CASE("what was appended after a file was opened is found where its index says") {
    GrowingFile growing;
    growing.make_room(2);
    growing.write(0);
    const auto frames = open_hdf5(growing.path())->dataset("frames");
    growing.write(1);  // beyond the end that the file had
    check_values(*frames, 0);
    if (frames->is_stored(record(1))) {  // by what of the index is in memory already
        check_values(*frames, 1);
    }
}
