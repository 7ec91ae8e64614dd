// SPDX-License-Identifier: Apache-2.0
// Series whose job script says what they are (stage/job_options.hpp).
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"

using namespace fluvial;
using fluvial::stage::Folder, fluvial::stage::SeriesWriter;

TEST_CASE("the same program writes and reads what its job script says") {
    const Folder folder;
    const std::string path = folder / "melt.nc";
    const std::string job =
        R"({"series": {"melt": {"path": ")" + path + R"(", "engine": "netcdf"}}})";
    ::setenv("FLUVIAL_OPTIONS", job.c_str(), 1);
    const double values[] = {1, 2};
    SeriesWriter writer("melt", world());
    CHECK_FALSE(writer.live());
    auto step = writer.begin_step();
    if (world_rank() == 0) {
        step.put("t", ArrayView(values, DType::Float64, {2}), {0}, {2});
    }
    step.end();
    writer.close();
    const scan::Series series("melt", world());
    ::unsetenv("FLUVIAL_OPTIONS");
    CHECK(series.size() == 1);
    const auto reduced = series.at(0).variable("t").reduce({"sum"}, {}, world());
    CHECK(*reduced.results.at("sum").at("value").as<double>() == 3);
}

TEST_CASE("ranks of which one is told something else all get the error") {
    const Folder folder;
    const bool last = world_rank() == world().size() - 1;
    if (world().size() == 1) {
        return;
    }
    const auto write = [&](const std::string& job) {
        stage::SeriesWriterOptions options;
        options.job = job;
        const SeriesWriter writer("melt", world(), options);
    };
    const std::string file = R"({"engine": "netcdf", "path": ")" + (folder / "a.nc") + R"("})";
    const std::string another = R"({"engine": "netcdf", "path": ")" + (folder / "b.nc") + R"("})";
    CHECK_THROWS_WITH_AS(write(last ? R"({"engin": "netcdf"})" : file),
                         doctest::Contains("got 'engin'"), InvalidArgument);
    CHECK_THROWS_WITH_AS(write(last ? another : file), doctest::Contains("what to write"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(write(last ? R"({"engine": "stage"})" : file),
                         doctest::Contains("the engine"), InvalidArgument);
    const auto read = [&](const std::string& job) {
        stage::SeriesReaderOptions options;
        options.job = job;
        const scan::Series series("melt", world(), options);
    };
    CHECK_THROWS_WITH_AS(read(last ? another : file), doctest::Contains("the name of a series"),
                         InvalidArgument);
    const std::string of_python = file.substr(0, file.size() - 1) + R"(, "decode": false})";
    CHECK_THROWS_WITH_AS(read(last ? of_python : file), doctest::Contains("for Python alone"),
                         InvalidArgument);
}
