// SPDX-License-Identifier: Apache-2.0
// Which datasets of a step are coordinates: the same in live steps and in files of every format.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

using Words = std::vector<std::string>;

const std::vector<double> lat = {0, 10, 20, 30};

template <class Step>
void put_all(Step step, const Attributes& of_lat) {
    const std::vector<double> u(24, 1.0);
    step.put("u", ArrayView(u.data(), DType::Float64, {4, 6}), {0, 0}, {4, 6},
             {{"axisLabels", Words{"lat", "lon"}}});
    step.put("lat", ArrayView(lat.data(), DType::Float64, {4}), {0}, {4}, of_lat);
    step.end();
}

void check_coordinate(Series& series) {
    const auto step = series.next();
    REQUIRE(step);
    const Variable u = step->variable("u");
    CHECK(Words(u.dimensions().end() - 2, u.dimensions().end()) == Words{"lat", "lon"});
    CHECK(u.coordinate("lat") == lat);
    const Reduced kept = u.reduce({"sum"}, {"lon"}, mpi::Comm());
    CHECK(kept.coordinates.at("lat") == lat);
}

/// A series in a stream that has one step.
void with_live_step(const stage::Folder& folder, const std::function<void(stage::WriteStep)>& put,
                    const std::function<void(Series&)>& use) {
    stage::WriterOptions options;
    options.readers = 0;
    options.directory = folder / "";
    stage::Writer writer("run", mpi::Comm(), options);
    put(writer.begin_step());
    SeriesOptions reading;
    reading.stream.directory = folder / "";
    Series series("run", mpi::Comm(), reading);
    use(series);
    series.close();
    writer.close();
}

}  // namespace

TEST_CASE("what is called like an axis is its coordinate, labelled or not, live or in files") {
    for (const Attributes& of_lat : {Attributes(), Attributes{{"axisLabels", Words{"lat"}}},
                                     Attributes{{"axisLabels", std::string("lat")}}}) {
        const stage::Folder folder;
        for (const auto& [name, engine] : {std::pair("run.h5", "hdf5"),
                                           {"run%T.h5", "hdf5"},
                                           {"run.nc", "netcdf"},
                                           {"run.nc4", "netcdf4"}}) {
            const char* const file = name;  // which a lambda of CAPTURE may have, unlike a binding
            CAPTURE(file);
            stage::FileWriterOptions options;
            options.engine = engine;
            {
                stage::FileWriter writer(folder / name, mpi::Comm(), options);
                put_all(writer.begin_step(), of_lat);
                writer.close();
            }
            Series series(folder / name, mpi::Comm());
            check_coordinate(series);
        }
        with_live_step(
            folder, [&](auto step) { put_all(std::move(step), of_lat); }, check_coordinate);
    }
}

TEST_CASE("what says that it is along another axis is no coordinate") {
    const stage::Folder folder;
    {
        stage::FileWriterOptions options;
        options.engine = "hdf5";
        stage::FileWriter writer(folder / "run.h5", mpi::Comm(), options);
        put_all(writer.begin_step(), {{"axisLabels", Words{"cell"}}});
        writer.close();
    }
    Series series(folder / "run.h5", mpi::Comm());
    const auto step = series.next();
    REQUIRE(step);
    CHECK_THROWS_WITH_AS(step->variable("u").coordinate("lat"),
                         doctest::Contains("'lat' is no coordinate of"), InvalidArgument);
}

TEST_CASE("components of a record are no coordinates of each other, whatever they are called") {
    const std::vector<double> e = {0, 1, 4, 9};
    const auto put_record = [&](auto step) {
        for (const char* const name : {"meshes/E/x", "meshes/E/y"}) {
            step.put(name, ArrayView(e.data(), DType::Float64, {4}), {0}, {4},
                     {{"axisLabels", Words{"x"}}, {"gridSpacing", std::vector<double>{0.5}}});
        }
        for (const char* const name : {"particles/e/position/x", "particles/e/position/y"}) {
            step.put(name, ArrayView(e.data(), DType::Float64, {4}), {0}, {4});
        }
        step.end();
    };
    const auto check = [&](Series& series) {
        const auto step = series.next();
        REQUIRE(step);
        for (const char* const name : {"meshes/E/x", "meshes/E/y"}) {
            const Variable component = step->variable(name);
            CHECK(component.dimensions() == Words{"x"});
            CHECK(component.coordinate("x") == std::vector<double>{0, 0.5, 1, 1.5});
            const Reduced some = component.sel("x", 0.5, 1).reduce({"sum"}, {}, mpi::Comm());
            CHECK(*some.results.at("sum").at("value").as<double>() == 5);
        }
        const Variable x = step->variable("particles/e/position/x");
        const Variable y = step->variable("particles/e/position/y");
        const Reduced found = x.where(y, Comparison::Greater, 1).reduce({"sum"}, {}, mpi::Comm());
        CHECK(*found.results.at("sum").at("value").as<double>() == 13);
    };
    const stage::Folder folder;
    {
        stage::FileWriterOptions options;
        options.engine = "hdf5";
        stage::FileWriter writer(folder / "run.h5", mpi::Comm(), options);
        put_record(writer.begin_step());
        writer.close();
    }
    Series stored(folder / "run.h5", mpi::Comm());
    check(stored);
    with_live_step(folder, put_record, check);
}
