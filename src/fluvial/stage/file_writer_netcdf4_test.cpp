// SPDX-License-Identifier: Apache-2.0
// What netCDF-4 has beyond CDF-5. How netCDF's own library reads such files is tested in Python.
#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/formats.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

using Names = std::vector<std::string>;

const Coordinates shape = {60, 50};

std::vector<double> field(std::uint64_t step, const Coordinates& extent = shape) {
    std::vector<double> values(static_cast<std::size_t>(volume_of(extent)));
    std::iota(values.begin(), values.end(), 1000.0 * static_cast<double>(step));
    return values;
}

/// Each rank its part of a field, cut along an axis.
void put(SeriesWriteStep& step, const std::string& name, std::uint64_t number, int axis,
         const Coordinates& extent = shape) {
    const Region mine = part_of(extent, axis);
    if (!mine.empty()) {
        const std::vector<double> values = field(number, extent);
        step.put(name, subview(ArrayView(values.data(), DType::Float64, extent), mine), mine.offset,
                 extent);
    }
}

std::vector<double> fields(const std::vector<std::uint64_t>& steps,
                           const Coordinates& extent = shape) {
    std::vector<double> all;
    for (const std::uint64_t step : steps) {
        const std::vector<double> one = field(step, extent);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

}  // namespace

TEST_CASE("compressed records, cut in another way in each of them, and small ones beside them") {
    const Folder folder;
    SeriesWriter series(folder / "run.nc4", world(), {.compression = "gzip"});
    for (std::uint64_t number = 0; number < 3; ++number) {
        SeriesWriteStep step = series.begin_step();
        put(step, "E", number, static_cast<int>(number % 2));
        put(step, "rho", number, 0, {10, 3});
        step.end();
        const auto file = store::open_file(folder / "run.nc4");
        CHECK(file->dataset("E")->shape() == Coordinates{static_cast<Index>(number) + 1, 60, 50});
        world().barrier();
    }
    series.close();
    const auto file = store::open_file(folder / "run.nc4");
    CHECK(all_of(*file, "E") == fields({0, 1, 2}));
    CHECK(all_of(*file, "rho") == fields({0, 1, 2}, {10, 3}));
    CHECK(file->dataset("E")->dimensions() == Names{"time", "E_dim_0", "E_dim_1"});
    CHECK(std::get<store::Chunked>(file->dataset("E")->layout()).filters.size() == 2);
    CHECK(std::get<store::Chunked>(file->dataset("rho")->layout()).filters.empty());
}

TEST_CASE("a dataset may be called like an axis whose coordinate it is not") {
    const Folder folder;
    for (const char* name : {"run.nc4", "run.nc"}) {
        SeriesWriter series(folder / name, world());
        for (std::uint64_t number = 0; number < 2; ++number) {
            SeriesWriteStep step = series.begin_step();
            if (world_rank() == 0) {
                const std::vector<double> values = field(number, {3, 2});
                const Attributes along = {{"axisLabels", Names{"y", "x"}}};
                for (const char* dataset : {"y", "E"}) {
                    step.put(dataset, ArrayView(values.data(), DType::Float64, {3, 2}), {0, 0},
                             {3, 2}, along);
                }
            }
            step.end();
        }
        series.close();
        world().barrier();
        const auto file = store::open_file(folder / name);
        for (const char* dataset : {"y", "E"}) {
            CHECK(all_of(*file, dataset) == fields({0, 1}, {3, 2}));
            CHECK(file->dataset(dataset)->dimensions() == Names{"time", "y", "x"});
        }
    }
}

TEST_CASE("many small records share chunks") {
    const Folder folder;
    constexpr std::int64_t count = 1400;  // of three bytes: 1365 a chunk
    SeriesWriter series(folder / "run.nc4", world());
    std::vector<std::int8_t> expected;
    for (std::int64_t number = 0; number < count; ++number) {
        SeriesWriteStep step = series.begin_step({{"time", 0.5 * static_cast<double>(number)}});
        const std::vector<std::int8_t> values(3, static_cast<std::int8_t>(number % 100));
        if (world_rank() == 0) {
            step.put("v", ArrayView(values.data(), DType::Int8, {3}), {0}, {3});
        }
        step.end();
        expected.insert(expected.end(), values.begin(), values.end());
    }
    series.close();
    const auto file = store::open_file(folder / "run.nc4");
    CHECK((all_of<std::int8_t>(*file, "v") == expected));
    CHECK(all_of(*file, "time").back() == 0.5 * (count - 1));
}

TEST_CASE("a step of many variables, and one of too many") {
    const Folder folder;
    const auto put_all = [&](const std::string& name, int count) {
        SeriesWriter series(folder / name, world());
        SeriesWriteStep step = series.begin_step();
        for (int number = 0; number < count; ++number) {
            const double value = number;
            if (number % world_size() == world_rank()) {
                step.put(text("v", number), ArrayView(&value, DType::Float64, {1}), {0}, {1},
                         {{"axisLabels", std::string("x")}, {"note", std::string(300, 'a')}});
            }
        }
        step.end();
        series.close();
    };
    put_all("many.nc4", 1500);
    const auto file = store::open_file(folder / "many.nc4");
    for (const int number : {0, 1, 749, 1499}) {
        CHECK(all_of(*file, text("v", number)) == std::vector<double>{1.0 * number});
        CHECK(file->dataset(text("v", number))->dimensions() == Names{"time", "x"});
    }
    CHECK_THROWS_WITH_AS(put_all("more.nc4", 4100), doctest::Contains("at most 4000 along an axis"),
                         InvalidArgument);
}

TEST_CASE("a disk that gets full loses the record, on every rank, and not the file") {
    for (const char* const compression : {"none", "gzip"}) {
        CAPTURE(compression);
        const Folder folder;
        rlimit before = {};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
        ::signal(SIGXFSZ, SIG_IGN);
        SeriesWriter series(folder / "run.nc4", world(), {.compression = compression});
        std::vector<std::uint64_t> written;
        for (const std::uint64_t number : {0, 1, 2, 3, 4}) {
            const bool full = number == 0 || number == 2;
            SeriesWriteStep step = series.begin_step({{"time", static_cast<double>(number)}});
            put(step, "x", number, 0);
            const rlimit limit = {full ? 2'000 : before.rlim_cur, before.rlim_max};
            REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
            if (full) {
                CHECK_THROWS_AS(step.end(), SystemError);
            } else {
                step.end();
                written.push_back(number);
            }
            REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
        }
        series.close();
        ::signal(SIGXFSZ, SIG_DFL);
        const auto file = store::open_file(folder / "run.nc4");
        CHECK(all_of(*file, "x") == fields(written));
        CHECK(all_of(*file, "time") == std::vector<double>{1, 3, 4});
    }
}

TEST_CASE("names that the format needs are refused, and a series may have no step") {
    const Folder folder;
    SeriesWriter series(folder / "run.nc4", world());
    const auto refused = [&](const char* what, const std::string& name, const Attributes& said) {
        SeriesWriteStep step = series.begin_step();
        if (world_rank() == 0) {
            static_cast<void>(step.span(name, DType::Float64, whole({2, 2}), {2, 2}, said));
        }
        CHECK_THROWS_WITH_AS(step.end(), doctest::Contains(what), InvalidArgument);
    };
    refused("a name that netCDF-4 needs itself: got 'DIMENSION_LIST'", "a",
            {{"DIMENSION_LIST", std::string("mine")}});
    refused("'time' is the axis of the records and of nothing else", "time",
            {{"axisLabels", Names{"y", "x"}}});
    series.set_attributes({{"_NCProperties", std::string("version=1")}});
    refused("attribute of the series has a name that netCDF-4 needs itself", "a", {});
    series.close();
    world().barrier();
    CHECK(folder.names().empty());
    SeriesWriter without(folder / "without.nc4", world());
    without.set_attributes({{"title", std::string("of nothing")}});
    without.close();
    const auto file = store::open_file(folder / "without.nc4");
    CHECK(std::get<std::string>(file->attributes().at("title")) == "of nothing");
}
