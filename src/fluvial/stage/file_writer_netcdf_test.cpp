// SPDX-License-Identifier: Apache-2.0
// How programs for climate data read such files is tested in Python
// (tests/docs/test_writers_and_readers.py).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/numbered_files.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

using Names = std::vector<std::string>;

#ifdef FLUVIAL_WITH_HDF5
const Names formats = {"run.nc", "run.nc4"};
#else
const Names formats = {"run.nc"};
#endif
const Coordinates shape = {7, 5};

/// All of the field of a step, row-major.
std::vector<float> field(int step) {
    std::vector<float> values(static_cast<std::size_t>(volume_of(shape)));
    std::iota(values.begin(), values.end(), 100.0F * static_cast<float>(step));
    return values;
}

void put_field(SeriesWriteStep& step, int number, const Attributes& attributes) {
    const std::vector<float> values = field(number);
    const Region mine = part_of(shape, number % 2);
    step.put("t", subview(ArrayView(values.data(), DType::Float32, shape), mine), mine.offset,
             shape, attributes);
}

/// Each rank its part of the coordinate "y", whose elements begin at `first`.
void put_rows(SeriesWriteStep& step, std::int16_t first) {
    std::vector<std::int16_t> rows(static_cast<std::size_t>(shape[0]));
    std::iota(rows.begin(), rows.end(), first);
    const Region mine = part_of(shape, 0);
    step.put("y", ArrayView(rows.data() + mine.offset[0], DType::Int16, {mine.extent[0]}),
             {mine.offset[0]}, {shape[0]}, {{"axisLabels", std::string("y")}});
}

const Attributes axes = {{"axisLabels", Names{"y", "x"}},
                         {"units", std::string("K")},
                         {"_FillValue", std::numeric_limits<double>::quiet_NaN()}};

}  // namespace

TEST_CASE("a step is a record, and coordinates are there once") {
    for (const std::string& name : formats) {
        CAPTURE(name);
        const Folder folder;
        SeriesWriter series(folder / name, world());
        series.set_attributes(
            {{"title", std::string("of a rank")}, {"openPMD", std::string("1.1.0")}});
        for (int number = 0; number < 3; ++number) {
            SeriesWriteStep step = series.begin_step({{"time", 0.5 * number},
                                                      {"cycles", std::int64_t{10} + number},
                                                      {"calm", number == 1}});
            put_rows(step, -2);
            put_field(step, number, axes);
            step.end();
            // What is finished can be read before the series is closed.
            const auto file = store::open_file(folder / name);
            CHECK(file->dataset("t")->shape() == Coordinates{number + 1, 7, 5});
            world().barrier();
        }
        series.close();
        CHECK(folder.names() == Names{name});
        const auto file = store::open_file(folder / name);
        CHECK(file->format() == (name == "run.nc" ? "netCDF classic (CDF-5)" : "netCDF-4"));
        CHECK(file->attributes() == Attributes{{"software", std::string("Fluvial")},
                                               {"title", std::string("of a rank")}});
        const auto t = file->dataset("t");
        CHECK(t->dimensions() == Names{"time", "y", "x"});
        CHECK(say_the_same(t->attributes(),
                           {{"units", std::string("K")}, {"_FillValue", std::nan("")}}));
        std::vector<float> expected;
        for (int number = 0; number < 3; ++number) {
            const auto values = field(number);
            expected.insert(expected.end(), values.begin(), values.end());
        }
        CHECK(all_of<float>(*file, "t") == expected);
        CHECK(file->dataset("y")->dimensions() == Names{"y"});
        CHECK(all_of<std::int16_t>(*file, "y") == std::vector<std::int16_t>{-2, -1, 0, 1, 2, 3, 4});
        CHECK(all_of(*file, "time") == std::vector<double>{0, 0.5, 1});
        CHECK(all_of<std::int64_t>(*file, "cycles") == std::vector<std::int64_t>{10, 11, 12});
        CHECK(all_of<std::int8_t>(*file, "calm") == std::vector<std::int8_t>{0, 1, 0});
    }
}

TEST_CASE("a lone variable of records is not padded, and grids are coordinates") {
    const Folder folder;
    SeriesWriter series(folder / "data%T.nc", world());
    for (int number = 0; number < 2; ++number) {
        SeriesWriteStep step = series.begin_step();
        put_field(step, number,
                  {{"axisLabels", Names{"y", "x"}},
                   {"gridSpacing", std::vector<double>{0.5, 2}},
                   {"gridGlobalOffset", std::vector<double>{1, 0}},
                   {"position", std::vector<double>{0, 0.5}},
                   {"gridUnitSI", 1e-3}});
        step.end();
    }
    series.close();
    const auto numbered = store::numbered_files(folder / "data%T.nc");
    REQUIRE(numbered.size() == 2);
    const auto file = store::open_file(numbered.at(1));
    CHECK(all_of<float>(*file, "t") == field(1));
    CHECK(all_of(*file, "y") == std::vector<double>{1, 1.5, 2, 2.5, 3, 3.5, 4});
    CHECK(all_of(*file, "x") == std::vector<double>{1, 3, 5, 7, 9});
    CHECK(file->dataset("x")->attributes() == Attributes{{"unitSI", 1e-3}});

    SeriesWriter odd(folder / "odd.nc", world());
    for (std::int8_t number = 0; number < 5; ++number) {  // records of three bytes
        SeriesWriteStep step = odd.begin_step();
        if (world_rank() == 0) {
            const std::vector<std::int8_t> values(3, number);
            step.put("v", ArrayView(values.data(), DType::Int8, {3}), {0}, {3});
        }
        step.end();
    }
    odd.close();
    CHECK(all_of<std::int8_t>(*store::open_file(folder / "odd.nc"), "v") ==
          std::vector<std::int8_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
}

TEST_CASE("what a record cannot have is an error on all ranks, and the next step is written") {
    for (const std::string& name : formats) {
        CAPTURE(name);
        const Folder folder;
        SeriesWriter series(folder / name, world());
        const auto refused = [&](const char* what, const Attributes& attributes, const auto& put) {
            SeriesWriteStep step = series.begin_step(attributes);
            put(step);
            CHECK_THROWS_WITH_AS(step.end(), doctest::Contains(what), InvalidArgument);
        };
        const auto put_one = [](SeriesWriteStep& step, const std::string& name, DType dtype,
                                const Coordinates& extent, const Attributes& attributes = {}) {
            if (world_rank() == 0) {
                static_cast<void>(step.span(name, dtype, whole(extent), extent, attributes));
            }
        };
        refused("'meshes/E'", {},
                [&](auto& step) { put_one(step, "meshes/E", DType::Float64, {2}); });
        refused("dtype that files of netCDF do not have: got complex128", {},
                [&](auto& step) { put_one(step, "c", DType::Complex128, {2}); });
        refused("'none' has no elements", {},
                [&](auto& step) { put_one(step, "none", DType::Float64, {0}); });
        refused("axis that is called 'time'", {}, [&](auto& step) {
            put_one(step, "t", DType::Float64, {2}, {{"axisLabels", std::string("time")}});
        });
        refused("two lengths: got 3 in 'b'; allowed: 2", {}, [&](auto& step) {
            put_one(step, "a", DType::Float64, {2}, {{"axisLabels", std::string("x")}});
            put_one(step, "b", DType::Float64, {3}, {{"axisLabels", std::string("x")}});
        });
        refused("nothing that changes with time", {}, [&](auto& step) {
            put_one(step, "x", DType::Float64, {2}, {{"axisLabels", std::string("x")}});
        });
        refused("attribute 'author' of step 6 is no number", {{"author", std::string("me")}},
                [&](auto& step) { put_one(step, "a", DType::Float64, {2}); });
        refused("several texts", {}, [&](auto& step) {
            put_one(step, "a", DType::Float64, {2}, {{"who", Names{"I", "you"}}});
        });
        refused("_FillValue of 'a' is none of its elements: got a value that int16 cannot hold", {},
                [&](auto& step) {
                    put_one(step, "a", DType::Int16, {2}, {{"_FillValue", std::int64_t{65535}}});
                });
        const auto whole_step = [&](int number, std::int16_t first, const Attributes& attributes) {
            SeriesWriteStep step = series.begin_step({{"time", 1.0 * number}});
            put_rows(step, first);
            put_field(step, number, attributes);
            step.end();
        };
        whole_step(0, 0, axes);
        CHECK_THROWS_WITH_AS(whole_step(1, 1, axes),
                             doctest::Contains("the coordinate 'y' changes"), InvalidArgument);
        CHECK_THROWS_WITH_AS(whole_step(1, 0, {{"axisLabels", Names{"y", "x"}}}),
                             doctest::Contains("attributes of 't' changes in step"),
                             InvalidArgument);
        refused("'t' is missing in step", {{"time", 1.0}}, [&](auto& step) { put_rows(step, 0); });
        refused("'new' is new in step", {{"time", 1.0}}, [&](auto& step) {
            put_rows(step, 0);
            put_field(step, 1, axes);
            put_one(step, "new", DType::Float64, {2});
        });
        whole_step(2, 0, axes);
        series.close();
        const auto file = store::open_file(folder / name);
        std::vector<float> expected = field(0);
        const auto last = field(2);
        expected.insert(expected.end(), last.begin(), last.end());
        CHECK(all_of<float>(*file, "t") == expected);
        CHECK(all_of(*file, "time") == std::vector<double>{0, 2});
    }
}

TEST_CASE("the time of steps has the units that they say") {
    for (const std::string& name : formats) {
        CAPTURE(name);
        const Folder folder;
        SeriesWriter series(folder / name, world());
        for (int number = 0; number < 2; ++number) {
            SeriesWriteStep step =
                series.begin_step({{"time", 1.0 * number},
                                   {"timeUnits", std::string("days since 2000-1-1")},
                                   {"timeCalendar", std::string("noleap")},
                                   {"timeUnitSI", 86400.0}});
            put_field(step, number, axes);
            step.end();
        }
        series.close();
        const auto file = store::open_file(folder / name);
        const Attributes attributes = file->dataset("time")->attributes();
        CHECK(std::get<std::string>(attributes.at("units")) == "days since 2000-1-1");
        CHECK(std::get<std::string>(attributes.at("calendar")) == "noleap");
        CHECK(attributes.size() == 2);
        CHECK(all_of(*file, "time") == std::vector<double>{0, 1});
        CHECK(std::ranges::find(file->names(), "timeUnitSI") == file->names().end());
    }
}

TEST_CASE("what stands for nothing, and bounds, are of the dataset's dtype") {
    const Folder folder;
    SeriesWriter series(folder / "run.nc", world());
    SeriesWriteStep step = series.begin_step();
    if (world_rank() == 0) {
        const std::vector<std::int16_t> values = {1, -9};
        step.put("v", ArrayView(values.data(), DType::Int16, {2}), {0}, {2},
                 {{"_FillValue", std::int64_t{-9}},
                  {"missing_value", std::int64_t{100'000}},
                  {"valid_range", std::vector<std::int64_t>{-10, 10}},
                  {"scale_factor", 0.5}});
    }
    step.end();
    series.close();
    world().barrier();
    std::ifstream in(folder / "run.nc", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto type_of = [&](const std::string& name) {  // behind the name, of four bytes each
        const std::size_t at = bytes.find(name);
        REQUIRE(at != std::string::npos);
        return static_cast<int>(bytes.at(at + (name.size() + 3) / 4 * 4 + 3));
    };
    constexpr int int16 = 3, float64 = 6, int64 = 10;
    CHECK(type_of("_FillValue") == int16);
    CHECK(type_of("missing_value") == int64);  // no element is equal to it
    CHECK(type_of("valid_range") == int16);
    CHECK(type_of("scale_factor") == float64);
    CHECK(store::open_file(folder / "run.nc")->dataset("v")->attributes() ==
          Attributes{{"_FillValue", std::int64_t{-9}},
                     {"missing_value", std::int64_t{100'000}},
                     {"valid_range", std::vector<std::int64_t>{-10, 10}},
                     {"scale_factor", 0.5}});
}

TEST_CASE("all kinds of attributes and numbers of dtypes") {
    for (const std::string& name : formats) {
        CAPTURE(name);
        const Folder folder;
        SeriesWriter series(folder / name, world());
        series.set_attributes({{"yes", true},
                               {"whole", std::int64_t{-1} << 40},
                               {"real", 0.1},
                               {"wholes", std::vector<std::int64_t>{1, -2}},
                               {"reals", std::vector<double>{1.5, std::nan("")}},
                               {"text", std::string("ö")}});
        SeriesWriteStep step = series.begin_step();
        Names written;
        for (int number = 0; number < dtype_count; ++number) {
            const DType dtype = dtype_from_number(number);
            const std::string dataset(name_of(dtype));
            if (dataset.starts_with("complex") || dataset == "float16") {
                continue;
            }
            written.push_back(dataset);
            const MutableArrayView span =
                step.span(dataset, dtype, {{world_rank()}, {1}}, {Index{world_size()}});
            for (std::size_t i = 0; i < size_of(dtype); ++i) {
                span.data[i] = std::byte(16 * i + static_cast<std::size_t>(world_rank()));
            }
        }
        step.end();
        series.close();
        CHECK(written.size() == 10);
        const auto file = store::open_file(folder / name);
        const Attributes& said = file->attributes();
        CHECK(said.at("yes") == Attribute(std::int64_t{1}));
        CHECK(said.at("whole") == Attribute(std::int64_t{-1} << 40));
        CHECK(said.at("real") == Attribute(0.1));
        CHECK(said.at("wholes") == Attribute(std::vector<std::int64_t>{1, -2}));
        CHECK(said.at("text") == Attribute(std::string("ö")));
        for (const std::string& of : written) {
            const auto dataset = file->dataset(of);
            REQUIRE(name_of(dataset->dtype()) == of);
            const std::size_t bytes = size_of(dataset->dtype());
            std::vector<std::byte> values(static_cast<std::size_t>(world_size()) * bytes);
            dataset->read(whole(dataset->shape()),
                          {values.data(), dataset->dtype(), dataset->shape(),
                           contiguous_strides(dataset->shape(), bytes)});
            for (std::size_t i = 0; i < values.size(); ++i) {
                CHECK(values[i] == std::byte(16 * (i % bytes) + i / bytes));
            }
        }
    }
}
