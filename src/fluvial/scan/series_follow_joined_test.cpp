// SPDX-License-Identifier: Apache-2.0
// Several files that are joined, followed while the first rank writes one after the other.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/joined_fixture.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using stage::Folder;
using store::ClassicFixture;

namespace {

SeriesOptions following(const Folder& folder, double seconds = 60) {
    SeriesOptions options;
    options.follow = true;
    options.until = folder / "done";
    options.stream.rendezvous_timeout_s = seconds;
    options.stream.step_timeout_s = seconds;
    return options;
}

/// On the first rank, while the others wait, and do not read any more.
void first_rank(const std::function<void()>& work) {
    world().barrier();
    if (world_rank() == 0) {
        work();
    }
    world().barrier();
}

void write_file(const std::string& path, const ClassicFixture& file, std::size_t bytes_max = ~0UL) {
    first_rank([&] {
        const ClassicFixture::Bytes bytes = file.build();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(std::min(bytes.size(), bytes_max)));
    });
}

/// One that was written long ago, so that nobody waits for more.
void write_old(const std::string& path, const ClassicFixture& file) {
    write_file(path, file);
    first_rank([&] {
        std::filesystem::last_write_time(
            path, std::filesystem::last_write_time(path) - std::chrono::hours(1));
    });
}

/// The next step is this one, and has the values that the fixture gives a record of a file.
void check_step(Series& series, std::uint64_t number, std::uint64_t record) {
    const auto step = series.next();
    REQUIRE(step.has_value());
    CHECK(step->index() == number);
    const compute::Array u = step->read("u");
    REQUIRE(u.shape == Coordinates{lats, lons});
    constexpr std::size_t variable = 4;
    for (std::uint64_t i = 0; i < lats * lons; ++i) {
        CHECK(u.as<double>()[i] == ClassicFixture::value(variable, record * lats * lons + i));
    }
}

}  // namespace

TEST_CASE("the records of all files are the steps, and times count as in the first one") {
    const Folder folder;
    Series series(folder / "his_*.nc", world(), following(folder));
    write_file(folder / "his_0.nc", climate(2));
    write_file(folder / "his_1.nc", climate(1, "days since 2000-02-01"));
    check_step(series, 0, 0);
    check_step(series, 1, 1);
    const auto third = series.next();  // when the file rests
    REQUIRE(third.has_value());
    CHECK(third->index() == 2);
    const Variable t = third->variable("t");
    CHECK(t.shape() == Coordinates{1, lats, lons});
    CHECK(t.coordinate("time").front() == 31 + ClassicFixture::value(0, 0));
    CHECK(third->dataset("u")->bytes().path() == folder / "his_1.nc");
    write_file(folder / "his_1.nc", climate(3, "days since 2000-02-01"));
    check_step(series, 3, 1);
    write_file(folder / "his_2.nc", climate(0, "days since 2000-03-01"));
    check_step(series, 4, 2);
    first_rank([&] { std::ofstream(folder / "done") << ""; });
    CHECK_FALSE(series.next());
    series.close();
}

TEST_CASE("ranks reduce a step of a file to which more was added since some of them opened it") {
    const Folder folder;
    Series series(folder / "his_*.nc", world(), following(folder));
    const auto check_sum = [&](std::uint64_t number, std::uint64_t record) {
        CAPTURE(number);
        const auto step = series.next();
        REQUIRE(step.has_value());
        CHECK(step->index() == number);
        double expected = 0;
        for (std::uint64_t i = 0; i < lats * lons; ++i) {
            expected += ClassicFixture::value(4, record * lats * lons + i);
        }
        const Reduced sums = step->variable("u").reduce({"sum"}, {}, world());
        CHECK(sums.results.at("sum").at("value").as<double>()[0] == expected);
    };
    write_file(folder / "his_0.nc", climate(2));
    check_sum(0, 0);
    write_file(folder / "his_0.nc", climate(3));
    check_sum(1, 1);  // the other ranks have it in the file that they opened before
    write_file(folder / "his_1.nc", climate(2, "days since 2000-02-01"));
    check_sum(2, 2);
    check_sum(3, 0);
    write_file(folder / "his_1.nc", climate(3, "days since 2000-02-01"));
    check_sum(4, 1);
    series.close();
}

TEST_CASE("files of Fluvial say how far they are, and whether their writer is gone") {
    const Folder folder;
    const auto write = [&](const std::string& name, double first, bool closes) {
        stage::FileWriterOptions options;
        options.engine = "netcdf";
        stage::FileWriter writer(folder / name, mpi::Comm(), options);
        for (const double value : {first, first + 1}) {
            const std::vector<double> values(30, value);
            stage::FileWriteStep step = writer.begin_step();
            step.put("x", ArrayView(values.data(), DType::Float64, {30}), {0}, {30});
            step.end();
        }
        if (closes) {
            writer.close();
        }
    };
    Series series(folder / "run_*", world(), following(folder));
    std::thread writing;
    if (world_rank() == 0) {
        writing = std::thread([&] {
            write("run_0.nc", 0, true);
            write("run_1.nc", 2, false);
        });
    }
    for (std::uint64_t number = 0; number < 4; ++number) {
        const auto step = series.next();
        REQUIRE(step.has_value());
        CHECK(step->index() == number);
        CHECK(step->read("x").as<double>()[29] == static_cast<double>(number));
    }
    CHECK_THROWS_WITH_AS(series.next(), doctest::Contains("run_1.nc' is gone"), PeerLost);
    if (writing.joinable()) {
        writing.join();
    }
    series.close();
}

TEST_CASE("what is half made is waited for") {
    const Folder folder;
    write_file(folder / "his_0.nc", climate(1));
    write_file(folder / "his_1.nc", climate(2), 30);
    Series series(folder / "his_*.nc", world(), following(folder));
    check_step(series, 0, 0);
    CHECK_THROWS_WITH_AS(series.next(1.5), doctest::Contains("his_1.nc"), TimedOut);
    write_file(folder / "his_1.nc", climate(2));
    check_step(series, 1, 0);
    check_step(series, 2, 1);
    series.close();
}

TEST_CASE("a file that does not join those before it is refused on all ranks by its name") {
    ClassicFixture coarse = climate(2), other = climate(2), packed = climate(2);
    coarse.dimensions[2].length = lons + 1;
    other.variables.pop_back();
    packed.variables[3].attributes[0].values = {2 * scale};
    ClassicFixture grid = climate(2), single = climate(2);
    grid.variables[2].attributes = {{"scale_factor", store::ClassicType::Double, {}, {3}}};
    single.variables[4].type = store::ClassicType::Float;
    const std::vector<std::pair<ClassicFixture, std::string>> cases = {
        {coarse, "lon: 6"},
        {other, "got datasets"},
        {packed, "the files store 't' differently"},
        {climate(2, "m"), "time"},
        {grid, "lon"},
        {single, "float32 of 'u'"}};
    for (const auto& [file, expected] : cases) {
        const std::string& said = expected;  // clang++ captures no structured binding
        CAPTURE(said);
        const Folder folder;
        write_old(folder / "his_0.nc", climate(1));
        write_old(folder / "his_1.nc", file);
        Series series(folder / "his_*.nc", world(), following(folder));
        check_step(series, 0, 0);
        CHECK_THROWS_WITH_AS(series.next(), doctest::Contains(said.c_str()), InvalidArgument);
        CHECK_THROWS_WITH_AS(series.next(), doctest::Contains("his_1.nc' does not join"),
                             InvalidArgument);
        series.close();
    }
}

TEST_CASE("what would give steps other numbers is an error") {
    const std::vector<std::pair<std::string, std::function<void(const Folder&)>>> cases = {
        {"his_3.nc' has disappeared",
         [](const Folder& folder) {
             first_rank([&] { std::filesystem::remove(folder / "his_3.nc"); });
         }},
        {"his_10.nc' is sorted before",
         [](const Folder& folder) { write_file(folder / "his_10.nc", climate(1)); }},
        {"his_4.nc' has fewer records",
         [](const Folder& folder) { write_file(folder / "his_4.nc", climate(0)); }},
        {"his_3.nc' was changed",
         [](const Folder& folder) { write_file(folder / "his_3.nc", climate(3)); }}};
    for (const auto& [expected, change] : cases) {
        const std::string& said = expected;
        CAPTURE(said);
        const Folder folder;
        write_old(folder / "his_3.nc", climate(2));
        write_old(folder / "his_4.nc", climate(2));
        Series series(folder / "his_*.nc", world(), following(folder));
        check_step(series, 0, 0);
        check_step(series, 1, 1);
        check_step(series, 2, 0);
        check_step(series, 3, 1);
        change(folder);
        CHECK_THROWS_WITH_AS(series.next(), doctest::Contains(said.c_str()), InvalidArgument);
        series.close();
    }
}

TEST_CASE("a pattern that fits nothing is waited for, and a list is refused") {
    const Folder folder;
    Series none(folder / "his_*.nc", world(), following(folder, 0.3));
    CHECK_THROWS_WITH_AS(none.next(), doctest::Contains("rendezvous_timeout_s"), TimedOut);
    none.close();
    CHECK_THROWS_WITH_AS(Series({folder / "a.nc", folder / "b.nc"}, world(), following(folder)),
                         doctest::Contains("this cannot be followed"), InvalidArgument);
}
