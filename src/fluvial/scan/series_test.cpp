// SPDX-License-Identifier: Apache-2.0
// Series of openPMD are in series_iterations_test.cpp.
#include "fluvial/scan/series.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/compute/apply.hpp"
#include "fluvial/scan/scan_fixture.hpp"
#include "fluvial/stage/writer.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;

namespace {

constexpr Index rows = 3, columns = 4;

/// time(time), x(x), u(time, y, x) and v, by record.
ClassicFixture records(std::uint64_t count) {
    ClassicFixture file;
    file.version = 5;
    file.records = count;
    file.dimensions = {{"time", 0}, {"y", rows}, {"x", columns}};
    file.variables = {{"time", {0}, ClassicType::Double},
                      {"x", {2}, ClassicType::Double},
                      {"u", {0, 1, 2}, ClassicType::Double},
                      {"v", {0, 1, 2}, ClassicType::Double}};
    return file;
}

double element(int variable, std::uint64_t step, Index at) {
    return ClassicFixture::value(variable, step * rows * columns + static_cast<std::uint64_t>(at));
}

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / text("fluvial_series_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

/// A stream of one process with the same steps as records().
struct Stream {
    explicit Stream(int steps) {
        stage::WriterOptions options;
        options.readers = 0;
        options.directory = folder.path;
        options.queue_steps = steps;
        stage::Writer writer("series", mpi::Comm(), options);
        SeriesOptions reading;
        reading.stream.directory = folder.path;
        for (int i = 0; i < steps; ++i) {
            auto step = writer.begin_step({{"time", 0.5 * i}});
            for (const int variable : {2, 3}) {
                std::vector<double> values;
                for (Index at = 0; at < rows * columns; ++at) {
                    values.push_back(element(variable, static_cast<std::uint64_t>(i), at));
                }
                const char* name = variable == 2 ? "u" : "v";
                step.put(name, ArrayView(values.data(), DType::Float64, {rows, columns}), {0, 0},
                         {rows, columns}, {{"axisLabels", std::vector<std::string>{"y", "x"}}});
            }
            step.end();
        }
        series.emplace("series", mpi::Comm(), reading);
        writer.close();
    }

    Folder folder;
    std::optional<Series> series;
};

double value(const Reduced& reduced, const std::string& name) {
    return reduced.results.at(name).at("value").as<double>()[0];
}

/// A part of what is read of "u" in a step; a place that does not fit is refused.
void check_region(const SeriesStep& step, const compute::Array& all) {
    CHECK(step.shape("u") == Coordinates{rows, columns});
    const Region inner{{1, 1}, {2, 2}};
    compute::Array part(DType::Float64, inner.extent);
    const auto place = [&](DType dtype, const Coordinates& extent) {
        return MutableArrayView{part.bytes.data(), dtype, extent,
                                contiguous_strides(extent, size_of(dtype))};
    };
    step.read("u", inner, place(DType::Float64, inner.extent));
    CHECK(part.as<double>()[2] == all.as<double>()[2 * columns + 1]);
    CHECK_THROWS_WITH_AS(step.read("u", inner, place(DType::Float64, {1, 2})),
                         doctest::Contains("the place for a region of 'u'"), InvalidArgument);
    CHECK_THROWS_AS(step.read("u", inner, place(DType::Int64, inner.extent)), InvalidArgument);
    CHECK_THROWS_AS(step.read("u", {{2, 0}, {2, 2}}, place(DType::Float64, inner.extent)),
                    InvalidArgument);
}

/// What one analysis finds in each step, wherever it comes from.
std::vector<double> analysed(Series& series) {
    std::vector<double> found;
    while (const auto step = series.next()) {
        CHECK(step->index() == found.size() / 3);
        CHECK(step->has("u"));
        CHECK_FALSE(step->has("w"));
        const Variable u = step->variable("u"), v = step->variable("v");
        found.push_back(value(u.where(v, Comparison::Greater, 120).reduce({"sum"}), "sum"));
        const auto product = compute::make_apply<double, 2>(
            [](double a, double b) { return a * b; }, compute::make_operator("max"));
        found.push_back(value(u.with(v).reduce({{"product", product}}), "product"));
        PendingReduction pending =
            u.start({{"histogram", {{"edges", std::vector{0.0, 60.0, 1e9}}}}});
        const Reduced histogram = pending.wait();
        found.push_back(static_cast<double>(
            histogram.results.at("histogram").at("value").as<std::int64_t>()[1]));
        const compute::Array all = step->read("u");
        CHECK(all.shape == Coordinates{rows, columns});
        check_region(*step, all);
        CHECK(all.as<double>()[0] == element(2, step->index(), 0));
    }
    return found;
}

}  // namespace

TEST_CASE("one analysis finds the same in the steps of a stream and in the records of a file") {
    Stream stream(4);
    const ScratchFile file(records(4).build());
    Series stored(file.path(), mpi::Comm());
    CHECK(stream.series->live());
    CHECK_FALSE(stored.live());
    const std::vector<double> found = analysed(stored);
    CHECK(found.size() == 12);
    CHECK(found == analysed(*stream.series));
}

TEST_CASE("a stream is found by its writer's address, and the key of both") {
    const Folder folder;
    const std::string key = (folder.path / "key").string();
    std::ofstream(key) << std::string(64, 'a');
    ::chmod(key.c_str(), 0600);
    ::setenv("FLUVIAL_KEY", key.c_str(), 1);
    stage::WriterOptions options;
    options.readers = 0;
    options.directory = folder.path;
    options.network = "lo";
    stage::Writer writer("series", mpi::Comm(), options);
    auto step = writer.begin_step({{"time", 0.5}});
    step.end();
    const std::string contact = writer.contact();
    const auto addresses = contact.find("addresses=127.0.0.1:") + 20;
    const std::string port =
        contact.substr(addresses, contact.find_first_of(",\n", addresses) - addresses);
    SeriesOptions reading;
    reading.stream.start = stage::Start::Observe;  // so that the step stays for the next reader
    std::vector<std::string> hosts = {"localhost", "127.0.0.1"};
    if (contact.find("[::1]") != std::string::npos) {
        hosts.emplace_back("[::1]");
    }
    for (const std::string& host : hosts) {
        Series series("fluvial://" + host + ":" + port + "/series", mpi::Comm(), reading);
        CHECK(series.live());
        CHECK(series.next());
    }
    writer.close();
    ::unsetenv("FLUVIAL_KEY");
}

TEST_CASE("steps of files by position, and streams that have none") {
    const ScratchFile file(records(3).build());
    const Series stored(file.path(), mpi::Comm());
    CHECK(stored.size() == 3);
    CHECK(stored.at(2).index() == 2);
    CHECK(stored.at(1).read("v").as<double>()[1] == element(3, 1, 1));
    CHECK(stored.at(1).read("x").shape == Coordinates{columns});
    CHECK(stored.at(2).attributes() == Attributes{{"time", ClassicFixture::value(0, 2)}});
    CHECK(stored.variable("u").shape() == Coordinates{3, rows, columns});
    CHECK_THROWS_WITH_AS(stored.at(3), doctest::Contains("0 to 2"), InvalidArgument);
    CHECK_THROWS_WITH_AS(stored.at(0).variable("w"), doctest::Contains("u"), InvalidArgument);
    Series closed(file.path(), mpi::Comm());
    closed.close();
    closed.close();
    CHECK_THROWS_WITH_AS(closed.next(), doctest::Contains("the series is closed"), InvalidArgument);
    Stream stream(1);
    CHECK_THROWS_AS(stream.series->size(), InvalidArgument);
    CHECK_THROWS_AS(stream.series->variable("u"), InvalidArgument);
}

TEST_CASE("a file for each step by its number") {
    const Folder folder;
    for (const int number : {7, 12}) {
        const ScratchFile file(records(1).build());
        std::filesystem::copy(file.path(), folder.path / text("t", number, ".nc"));
    }
    Series stored((folder.path / "t%T.nc").string(), mpi::Comm());
    CHECK(stored.size() == 2);
    CHECK(stored.next()->index() == 7);
    const auto last = stored.next();
    CHECK(last->variable("u").shape() == Coordinates{1, rows, columns});
    CHECK(last->read("u").shape == Coordinates{rows, columns});
    CHECK_FALSE(stored.next());
    CHECK_THROWS_WITH_AS(stored.variable("u"),
                         doctest::Contains("no variable of all steps together"), InvalidArgument);
    CHECK(Series((folder.path / "t*.nc").string(), mpi::Comm()).variable("u").shape()[0] == 2);
    CHECK_THROWS_WITH_AS(Series((folder.path / "s%T.nc").string(), mpi::Comm()),
                         doctest::Contains("no such files"), SystemError);
}

TEST_CASE("a call that says how long it waits does not wait for as long as the options say") {
    const Folder folder;
    stage::WriterOptions writing;
    writing.readers = 0;
    writing.directory = folder.path;
    stage::Writer writer("series", mpi::Comm(), writing);
    SeriesOptions reading;
    reading.stream.directory = folder.path;
    reading.stream.step_timeout_s = 1e6;
    Series series("series", mpi::Comm(), reading);
    CHECK_THROWS_WITH_AS(series.next(0.0), doctest::Contains("that this call was given"), TimedOut);
    const double value = 5;
    auto step = writer.begin_step();
    step.put("x", ArrayView(&value, DType::Float64, {1}), {0}, {1});
    step.end();
    const auto found = series.next(10.0);
    REQUIRE(found.has_value());
    CHECK(found->read("x").as<double>()[0] == value);
    CHECK_THROWS_AS(series.next(0.01), TimedOut);
    writer.close();
    CHECK_FALSE(series.next(10.0).has_value());
}

TEST_CASE("engines that there are not, or that read something else") {
    const ScratchFile file(records(1).build());
    SeriesOptions options;
    options.engine = "hdf5";
    CHECK_THROWS_WITH_AS(Series(file.path(), mpi::Comm(), options),
                         doctest::Contains("another format than engine 'hdf5'"), InvalidArgument);
    options.engine = "zarr";
    CHECK_THROWS_WITH_AS(Series(file.path(), mpi::Comm(), options),
                         doctest::Contains("another format than engine 'zarr'"), InvalidArgument);
    options.engine = "bp";
    CHECK_THROWS_WITH_AS(Series(file.path(), mpi::Comm(), options),
                         doctest::Contains("stage, hdf5, netcdf, zarr, raw"), InvalidArgument);
    options.engine = "stage";
    for (const store::FileNames& names :
         {store::FileNames({file.path(), file.path()}), store::FileNames({file.path()})}) {
        CHECK_THROWS_WITH_AS(Series(names, mpi::Comm(), options),
                             doctest::Contains("a list or a pattern is no stream"),
                             InvalidArgument);
    }
    options.engine = "netcdf";
    CHECK(Series(file.path(), mpi::Comm(), options).size() == 1);
}

TEST_CASE("a series that has been moved from is refused, of files and live") {
    const ScratchFile file(records(2).build());
    const auto check = [](Series& series) {
        const bool live = series.live();
        Series same = std::move(series);
        const auto refused = [&](const std::function<void()>& call) {
            CHECK_THROWS_WITH_AS(call(), doctest::Contains("moved from"), InvalidArgument);
        };
        refused([&] { series.live(); });
        refused([&] { series.options(); });
        refused([&] { series.next(); });
        refused([&] { series.size(); });
        refused([&] { series.at(0); });
        refused([&] { series.variable("u"); });
        refused([&] { series.attributes(); });
        refused([&] { series.close(); });
        CHECK(same.live() == live);
        CHECK(same.next());
        series = std::move(same);
        CHECK(series.next());
    };
    Series files(file.path(), mpi::Comm());
    check(files);
    CHECK(files.size() == 2);
    files.close();
    CHECK_THROWS_WITH_AS(files.next(), doctest::Contains("is closed"), InvalidArgument);
    Stream stream(2);
    check(*stream.series);
    stream.series->close();
}
