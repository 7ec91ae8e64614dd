// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/record_attributes.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/joined_fixture.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/record_layout.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;

namespace {

constexpr std::size_t of_laps = 5, of_time = 0;  // variables of the fixture

/// With a number a record that its writer gave as an attribute of the step.
ClassicFixture with_laps(std::uint64_t records, ClassicType type = ClassicType::Int,
                         const std::string& since = "days since 2000-01-01") {
    ClassicFixture file = climate(records, since);
    file.variables.push_back(
        {"laps", {0}, type, {{store::step_attribute, ClassicType::Int, {}, {1}}}});
    return file;
}

std::int64_t laps(std::uint64_t record) {
    return static_cast<std::int64_t>(ClassicFixture::value(of_laps, record));
}

double day(std::uint64_t record) {
    return ClassicFixture::value(of_time, record);
}

Attributes said_of(const Series& series, std::uint64_t step) {
    return series.at(step).attributes();
}

}  // namespace

TEST_CASE("what was said of a step is said of a record, with its time") {
    for (const std::string name : {"run.nc", "run.nc4"}) {
        CAPTURE(name);
        const stage::Folder folder;
        const std::vector<double> u(4, 1.0);
        stage::SeriesWriter series(folder / name, mpi::Comm());
        for (int number = 0; number < 3; ++number) {
            auto step = series.begin_step({{"time", 0.25 * number},
                                           {"timeUnits", std::string("fs")},
                                           {"timeCalendar", std::string("noleap")},
                                           {"dt", 0.25},
                                           {"laps", std::int64_t{1} << (40 + number)},
                                           {"lit", number == 1}});
            step.put("u", ArrayView(u.data(), DType::Float64, {4}), {0}, {4});
            step.end();
        }
        series.close();
        const Series stored(folder / name, mpi::Comm());
        for (int number = 0; number < 3; ++number) {
            const SeriesStep step = stored.at(number);
            CHECK(step.attributes() == Attributes{{"time", 0.25 * number},
                                                  {"timeUnits", std::string("fs")},
                                                  {"timeCalendar", std::string("noleap")},
                                                  {"timeUnitSI", 1e-15},
                                                  {"dt", 0.25},
                                                  {"laps", std::int64_t{1} << (40 + number)},
                                                  {"lit", std::int64_t{number == 1}}});
            CHECK(SeriesStep(step).attributes().at("dt") == Attribute(0.25));
        }
    }
}

TEST_CASE("each record of joined files has what its own file says of it") {
    const OwnFolder folder;
    const std::string february = "days since 2000-02-01";
    const Paths files =
        write({with_laps(2), climate(1), with_laps(2, ClassicType::Double, february)});
    const Series series(files, mpi::Comm());
    REQUIRE(series.size() == 5);
    const Attributes units = {{"timeUnits", std::string("days since 2000-01-01")},
                              {"timeUnitSI", 86400.0}};
    const auto with = [&](double time, const Attributes& numbers) {
        Attributes all = units;
        all["time"] = time;
        all.insert(numbers.begin(), numbers.end());
        return all;
    };
    CHECK(said_of(series, 0) == with(day(0), {{"laps", laps(0)}}));
    CHECK(said_of(series, 1) == with(day(1), {{"laps", laps(1)}}));
    CHECK(said_of(series, 2) == with(day(0), {}));  // whose writer said nothing else
    CHECK(said_of(series, 3) == with(31 + day(0), {{"laps", static_cast<double>(laps(0))}}));
    CHECK(said_of(series, 4) == with(31 + day(1), {{"laps", static_cast<double>(laps(1))}}));
}

TEST_CASE("a time that the files count otherwise is not said, all else is") {
    const OwnFolder folder;
    const Series series(write({with_laps(1), with_laps(1, ClassicType::Int, "furlongs")}),
                        mpi::Comm());
    CHECK(said_of(series, 0) == Attributes{{"laps", laps(0)}});
    CHECK(said_of(series, 1) == Attributes{{"laps", laps(0)}});
}

TEST_CASE("where the file has been cut, asking for what it says is an error, each time") {
    const OwnFolder folder;
    const Paths files = write({with_laps(2)});
    const Series series(files, mpi::Comm());
    const SeriesStep last = series.at(1);
    const auto whole = std::filesystem::file_size(files[0]);
    std::filesystem::resize_file(files[0], whole - 4);  // the last of laps
    CHECK_THROWS_WITH_AS(last.attributes(), doctest::Contains(files[0].c_str()), DamagedFile);
    CHECK_THROWS_AS(last.attributes(), DamagedFile);
    CHECK(series.at(0).attributes().at("laps") == Attribute(laps(0)));
}
