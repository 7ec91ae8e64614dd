// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/variable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/compute/apply.hpp"
#include "fluvial/scan/scan_fixture.hpp"
#include "fluvial/store/formats.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"
#include "fluvial/store/raw.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;

namespace {

/// Variables time(time), lat(lat), lon(lon), packed t(time, lat, lon), by record.
ClassicFixture climate(std::uint64_t records) {
    ClassicFixture file;
    file.version = 5;
    file.records = records;
    file.dimensions = {{"time", 0}, {"lat", 4}, {"lon", 5}};
    file.variables = {
        {"time", {0}, ClassicType::Double},
        {"lat", {1}, ClassicType::Float},
        {"lon", {2}, ClassicType::Int},
        {"t",
         {0, 1, 2},
         ClassicType::Short,
         {{"scale_factor", ClassicType::Double, {}, {0.5}},
          {"_FillValue", ClassicType::Short, {}, {40}}}},
    };
    return file;
}

/// Stored element of t in one file, in which its elements count by record.
double stored(Index time, Index lat, Index lon) {
    return ClassicFixture::value(3, static_cast<std::uint64_t>((time * 4 + lat) * 5 + lon));
}

constexpr Index rows = 3, columns = 4;

/// x(x), y(y), u(y, x) and v(y, x).
ClassicFixture plane() {
    ClassicFixture file;
    file.version = 5;
    file.dimensions = {{"y", rows}, {"x", columns}};
    file.variables = {{"x", {1}, ClassicType::Double},
                      {"y", {0}, ClassicType::Double},
                      {"u", {0, 1}, ClassicType::Double},
                      {"v", {0, 1}, ClassicType::Double}};
    return file;
}

double of_u(Index y, Index x) {
    return ClassicFixture::value(2, static_cast<std::uint64_t>(y * columns + x));
}

double of_v(Index y, Index x) {
    return ClassicFixture::value(3, static_cast<std::uint64_t>(y * columns + x));
}

double number(const Reduced& reduced, const std::string& name, std::size_t i = 0) {
    return reduced.results.at(name).at("value").as<double>()[i];
}

}  // namespace

TEST_CASE("a variable is selected by coordinates and reduced, and keeps the others") {
    const ScratchFile file(climate(3).build());
    const Variable t = Variable::open({file.path()}, "t");
    CHECK(t.dimensions() == std::vector<std::string>{"time", "lat", "lon"});
    CHECK(t.shape() == Coordinates{3, 4, 5});
    CHECK(t.coordinate("lat") == std::vector<double>{13, 20, 27, 34});
    const Variable part = t.sel("lat", 14, 30).isel("lon", 1, 5, 2);
    CHECK(part.shape() == Coordinates{3, 2, 2});
    CHECK(part.coordinate("lon") == std::vector<double>{33, 47});
    const Reduced reduced = part.reduce({"mean", "max"}, {"lat", "lon"});
    CHECK(reduced.dimensions == std::vector<std::string>{"time"});
    CHECK(reduced.coordinates.at("time") == t.coordinate("time"));
    for (Index time = 0; time < 3; ++time) {
        double sum = 0, most = -INFINITY, count = 0;
        for (const Index lat : {1, 2}) {
            for (const Index lon : {1, 3}) {
                const double value = stored(time, lat, lon);
                if (value != 40) {
                    sum += value * 0.5;
                    most = std::max(most, value * 0.5);
                    ++count;
                }
            }
        }
        CHECK(number(reduced, "mean", static_cast<std::size_t>(time)) == sum / count);
        CHECK(number(reduced, "max", static_cast<std::size_t>(time)) == most);
    }
    CHECK(number(t.isel("time", -1).isel("lat", 0).isel("lon", 0).reduce({"sum"}), "sum") ==
          stored(2, 0, 0) / 2);
}

TEST_CASE("weights follow the selection, predicates see decoded values") {
    const ScratchFile file(climate(2).build());
    const Variable t = Variable::open({file.path()}, "t");
    const Reduced mean =
        t.isel("time", 0).weighted_by_cosine("lat").sel("lat", 19, 40).reduce({"mean"}, {"lat"});
    CHECK(mean.dimensions == std::vector<std::string>{"time", "lon"});
    for (Index lon = 0; lon < 5; ++lon) {
        double sum = 0, weight = 0;
        for (Index lat = 1; lat < 4; ++lat) {
            const double w = std::cos(t.coordinate("lat")[static_cast<std::size_t>(lat)] *
                                      std::numbers::pi / 180);
            if (stored(0, lat, lon) != 40) {
                sum += w * stored(0, lat, lon) / 2;
                weight += w;
            }
        }
        CHECK(number(mean, "mean", static_cast<std::size_t>(lon)) ==
              doctest::Approx(sum / weight).epsilon(1e-14));
    }
    const Reduced high = t.where(Comparison::GreaterEqual, 30).reduce({"count", "min"});
    Index count = 0;
    for (Index i = 0; i < 40; ++i) {
        count += stored(0, 0, i) >= 60;
    }
    CHECK(*high.results.at("count").at("value").as<Index>() == count);
    CHECK(number(high, "min") >= 30);
    CHECK(*t.raw().reduce({"max"}).results.at("max").at("value").as<std::int16_t>() > 50);
}

TEST_CASE("files are joined along the first dimension") {
    const ScratchFile first(climate(2).build()), second(climate(3).build());
    const Variable both = Variable::open({first.path(), second.path()}, "t");
    CHECK(both.shape() == Coordinates{5, 4, 5});
    CHECK(both.coordinate("time").size() == 5);
    const Reduced sums = both.reduce({"sum"}, {"lat", "lon"});
    const Reduced alone = Variable::open({second.path()}, "t").reduce({"sum"}, {"lat", "lon"});
    for (std::size_t time = 0; time < 3; ++time) {
        CHECK(number(sums, "sum", time + 2) == number(alone, "sum", time));
    }
}

TEST_CASE("what is not there is named") {
    const ScratchFile file(climate(2).build());
    const Variable t = Variable::open({file.path()}, "t");
    CHECK_THROWS_WITH_AS(t.isel("height", 0),
                         "'t' has no such dimension: got height; allowed: "
                         "time, lat, lon",
                         InvalidArgument);
    CHECK_THROWS_AS(t.isel("lat", 4), InvalidArgument);
    CHECK_THROWS_AS(t.isel("lat", 2, 5), InvalidArgument);
    CHECK_THROWS_AS(Variable::open({}, "t"), InvalidArgument);
    CHECK_THROWS_WITH_AS(Variable::open({file.path()}, "q"), doctest::Contains("lat"),
                         InvalidArgument);
    CHECK_THROWS_AS(t.reduce({"average"}), InvalidArgument);
    CHECK_THROWS_AS(Variable::open({"/nowhere.nc"}, "t"), SystemError);
}

TEST_CASE("groups of a coordinate, each with its own result") {
    const ScratchFile file(plane().build());
    const Variable u = Variable::open({file.path()}, "u");
    const Reduced by_x = u.groupby("x").reduce({"sum"});
    REQUIRE(by_x.groups.size() == static_cast<std::size_t>(columns));
    for (Index x = 0; x < columns; ++x) {
        const auto& sum = by_x.groups[static_cast<std::size_t>(x)].at("sum").at("value");
        CHECK(sum.as<double>()[0] == of_u(0, x) + of_u(1, x) + of_u(2, x));
    }
    CHECK(number(by_x, "sum") == by_x.groups[0].at("sum").at("value").as<double>()[0]);
    // Only the last row has a group: what is selected later takes its groups along.
    const Reduced last = u.groupby("y", {1, -1, 0}).isel("y", 1, 3).reduce({"sum"}, {"y"});
    CHECK(last.groups.size() == 2);
    CHECK(number(last, "sum", 1) == of_u(2, 1));
    CHECK_THROWS_WITH_AS(u.groupby("y", {0}), doctest::Contains("do not fit"), InvalidArgument);
    CHECK_THROWS_WITH_AS(u.groupby("y", {0, -3, 0}), doctest::Contains("got -3"), InvalidArgument);
    CHECK_THROWS_WITH_AS(u.groupby("y", {0, std::numeric_limits<int>::max(), 0}),
                         doctest::Contains("is out of range"), InvalidArgument);
    CHECK_THROWS_WITH_AS(u.groupby("y", {0, 1 << 20, 0}), doctest::Contains("from 0 to 1048575"),
                         InvalidArgument);
    CHECK(u.groupby("y", {0, (1 << 20) - 1, 0}).reduce({"sum"}).groups.size() == 1 << 20);
    CHECK_THROWS_WITH_AS(u.groupby("y", {-1, -1, -1}), doctest::Contains("no index along 'y'"),
                         InvalidArgument);
    CHECK_THROWS_AS(u.groupby("y").reduce({"sum"}, {"x"}), InvalidArgument);
}

TEST_CASE("conditions on another variable, and functions of several") {
    const ScratchFile file(plane().build());
    const Variable u = Variable::open({file.path()}, "u").isel("x", 1, 4);
    const Variable v = Variable::open({file.path()}, "v").isel("x", 1, 4);
    const double bound = of_v(1, 1);
    double sum = 0, largest = 0;
    for (Index y = 0; y < rows; ++y) {
        for (Index x = 1; x < columns; ++x) {
            sum += of_v(y, x) > bound ? of_u(y, x) : 0;
            largest = std::max(largest, of_u(y, x) * of_v(y, x));
        }
    }
    CHECK(number(u.where(v, Comparison::Greater, bound).reduce({"sum"}), "sum") == sum);
    const auto product = compute::make_apply<double, 2>([](double a, double b) { return a * b; },
                                                        compute::make_operator("max"));
    CHECK(number(u.with(v).reduce({{"product", product}}), "product") == largest);
    const auto difference = compute::make_apply<double, 2>([](double a, double b) { return a - b; },
                                                           compute::make_operator("sum"));
    const auto where_v = [&](const Variable& some) {
        return some.where(v, Comparison::Greater, bound);
    };
    CHECK(number(where_v(u).with(u).reduce({{"difference", difference}}), "difference") == 0);
    CHECK(number(where_v(u.with(u)).reduce({{"difference", difference}}), "difference") == 0);
    CHECK_THROWS_WITH_AS(where_v(u).reduce({{"difference", difference}}),
                         doctest::Contains("reads a dataset that is not there"), InvalidArgument);
    CHECK_THROWS_WITH_AS(u.with(v.isel("y", 1)), doctest::Contains("Select the same of both"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(u.with(v.where(Comparison::Less, 1)),
                         doctest::Contains("Give them to the first variable"), InvalidArgument);
}

TEST_CASE("variables are paired by position, so their dimensions are the same in the same order") {
    ClassicFixture square;
    square.version = 5;
    square.dimensions = {{"a", 3}, {"b", 3}};
    square.variables = {{"x", {0, 1}, ClassicType::Double}, {"y", {1, 0}, ClassicType::Double}};
    const ScratchFile file(square.build());
    const Variable x = Variable::open({file.path()}, "x"), y = Variable::open({file.path()}, "y");
    const auto product = compute::make_apply<double, 2>([](double a, double b) { return a * b; },
                                                        compute::make_operator("max"));
    const doctest::Contains differ(
        "differ in their dimensions: got 'y' with 'b' as axis 0; allowed: 'a' as of 'x'");
    CHECK_THROWS_WITH_AS(x.where(y, Comparison::Greater, 6).reduce({"mean"}), differ,
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(x.with(y).reduce({{"product", product}}), differ, InvalidArgument);
    CHECK_NOTHROW(x.where(x, Comparison::Greater, 6).reduce({"mean"}));
}

TEST_CASE("options of operators, and reductions that are waited for later") {
    const ScratchFile file(plane().build());
    const Variable u = Variable::open({file.path()}, "u");
    const double bound = of_u(1, 2);
    PendingReduction pending =
        u.start({{"histogram", {{"edges", std::vector{-1e9, bound, 1e9}}}}, "count"});
    while (!pending.test()) {
    }
    CHECK(pending.progress() == 1);
    const Reduced reduced = pending.wait();
    std::vector<std::int64_t> expected(2);
    for (Index y = 0; y < rows; ++y) {
        for (Index x = 0; x < columns; ++x) {
            ++expected[of_u(y, x) < bound ? 0 : 1];
        }
    }
    const auto* const counts = reduced.results.at("histogram").at("value").as<std::int64_t>();
    CHECK(std::vector<std::int64_t>(counts, counts + 2) == expected);
    CHECK_THROWS_AS(u.start({"no such operator"}), InvalidArgument);
}

namespace {

/// Integers i(y, x), of which 7, 0 and 14 are missing; their values are (element · 7) % 101.
ClassicFixture integers() {
    ClassicFixture file;
    file.version = 5;
    file.dimensions = {{"y", rows}, {"x", columns}};
    file.variables = {{"i",
                       {0, 1},
                       ClassicType::Int,
                       {{"_FillValue", ClassicType::Int, {}, {7}},
                        {"valid_min", ClassicType::Int, {}, {1}},
                        {"missing_value", ClassicType::Int, {}, {14}}}},
                      {"wide", {0, 1}, ClassicType::Int64}};
    return file;
}

}  // namespace

TEST_CASE("without skipna, a result of which an element is missing is NaN") {
    const ScratchFile file(integers().build());
    const Variable i = Variable::open({file.path()}, "i");
    const Reduced all = i.reduce({"sum", "count", "max"}, {}, {}, {}, false);
    CHECK(std::isnan(number(all, "sum")));
    CHECK(all.results.at("count").at("value").as<std::int64_t>()[0] == 9);
    CHECK(std::isnan(number(all, "max")));
    CHECK(all.results.size() == 3);
    const Reduced rows_of =
        i.reduce({"sum", "argmax", {"quantile", {{"q", 0.5}}}}, {"x"}, {}, {}, false);
    CHECK(std::isnan(number(rows_of, "sum", 0)));  // 0, 7, 14, 21
    CHECK(number(rows_of, "sum", 1) == 28 + 35 + 42 + 49);
    CHECK(std::isnan(number(rows_of, "quantile", 0)));
    CHECK(number(rows_of, "quantile", 1) == doctest::Approx(38.5));
    const auto& places = rows_of.results.at("argmax").at("coordinates");
    CHECK(places.as<std::int64_t>()[0] == 0);  // that of the first that is missing, as of NaN
    CHECK(places.as<std::int64_t>()[2] == 1);
    // Elements that a condition leaves out are missing, too, and those of groups count by group.
    const Variable wide = Variable::open({file.path()}, "wide");
    const Reduced grouped =
        wide.where(Comparison::Less, 50).groupby("y", {0, 1, 1}).reduce({"sum"}, {}, {}, {}, false);
    CHECK(grouped.groups[0].at("sum").at("value").as<double>()[0] == 13 + 20 + 27 + 34);
    CHECK(std::isnan(grouped.groups[1].at("sum").at("value").as<double>()[0]));
}

TEST_CASE("integers of which some may be missing are real: nothing left is NaN and no error") {
    const ScratchFile file(integers().build());
    const Variable i = Variable::open({file.path()}, "i");
    const Reduced none = i.isel("y", 0).isel("x", 0, 3).reduce({"min", "sum"});
    CHECK(std::isnan(number(none, "min")));
    CHECK(none.results.at("sum").at("value").dtype == DType::Float64);
    const Variable wide = Variable::open({file.path()}, "wide");
    CHECK(std::isnan(number(wide.where(Comparison::Greater, 1e6).reduce({"min"}), "min")));
    CHECK(wide.reduce({"min"}).results.at("min").at("value").dtype == DType::Int64);
}

TEST_CASE("bounds that float64 does not tell apart are refused for integers of 64 bits") {
    const ScratchFile file(integers().build());
    const Variable wide = Variable::open({file.path()}, "wide");
    CHECK_THROWS_WITH_AS(wide.where(Comparison::Greater, 0x1p53),
                         doctest::Contains("'wide' of int64 cannot be compared exactly"),
                         InvalidArgument);
    CHECK_NOTHROW(wide.where(Comparison::Greater, 0x1p53 - 1));
    CHECK_NOTHROW(wide.where(Comparison::Less, std::numeric_limits<double>::infinity()));
    CHECK_NOTHROW(Variable::open({file.path()}, "i").where(Comparison::Greater, 0x1p53));
    CHECK_THROWS_AS(Variable::open({file.path()}, "i").where(wide, Comparison::Equal, -0x1p60),
                    InvalidArgument);
}

TEST_CASE("nothing selected of a selection with a stride, and bounds that are no numbers") {
    const ScratchFile file(plane().build());
    const Variable u = Variable::open({file.path()}, "u");
    const Variable some = u.isel("y", 0, 3, 2);
    CHECK(number(some.isel("y", 2, 2).reduce({"sum"}), "sum") == 0);
    CHECK_THROWS_WITH_AS(u.sel("y", NAN, 1), doctest::Contains("got NaN"), InvalidArgument);
    CHECK_THROWS_WITH_AS(u.sel("y", 0, NAN), doctest::Contains("got NaN"), InvalidArgument);
}

TEST_CASE("times that count from another day in each file are as the first one counts them") {
    const auto since = [](const char* units) {
        ClassicFixture file = climate(2);
        file.variables[0].attributes = {{"units", ClassicType::Char, units, {}}};
        return file.build();
    };
    const ScratchFile one(since("days since 2000-01-01")), two(since("hours since 2000-02-01"));
    const Variable t = Variable::open({one.path(), two.path()}, "t");
    const std::vector<double> times = {0, 7, 31, 31 + 7 / 24.0};
    CHECK(t.coordinate("time") == times);
    CHECK(t.reduce({"mean"}, {"lat", "lon"}).coordinates.at("time") == times);
    CHECK(t.sel("time", 5, 31).shape()[0] == 2);
}

TEST_CASE("a variable in a group has the coordinates of its own group, or of the next one out") {
    const std::vector<double> numbers = {0, 100, 200, 300, 400, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const auto bytes = std::as_bytes(std::span(numbers));
    const ScratchFile data(std::vector<std::byte>(bytes.begin(), bytes.end()));
    std::vector<store::RawLayout> layouts;
    for (const auto& [name, offset] :
         {std::pair("x", 0), std::pair("g/x", 40), std::pair("g/b", 80), std::pair("g/in/b", 80),
          std::pair("h/b", 80)}) {
        layouts.push_back(
            {DType::Float64, {5}, static_cast<std::uint64_t>(offset), false, name, {"x"}});
    }
    const auto file = store::open_raw(data.path(), layouts);
    const std::vector<double> outer(numbers.begin(), numbers.begin() + 5);
    const std::vector<double> own(numbers.begin() + 5, numbers.begin() + 10);
    CHECK(Variable::of(file, "g/b").coordinate("x") == own);
    CHECK(Variable::of(file, "g/in/b").coordinate("x") == own);
    CHECK(Variable::of(file, "h/b").coordinate("x") == outer);
    CHECK(number(Variable::of(file, "g/b").sel("x", 1, 3).reduce({"sum"}), "sum") == 6 + 7 + 8);
}

TEST_CASE("what was moved from, and what has no operator, is refused") {
    const ScratchFile file(plane().build());
    const Variable u = Variable::open({file.path()}, "u");
    PendingReduction pending = u.start({"sum"});
    PendingReduction moved = std::move(pending);
    CHECK_THROWS_WITH_AS(pending.wait(), doctest::Contains("moved from"), InvalidArgument);
    CHECK(number(moved.wait(), "sum") != 0);
    const Request nothing{
        {{{store::open_file(file.path())->dataset("u")}, {}}}, {}, {{"none", nullptr, {}}}, {}};
    CHECK_THROWS_WITH_AS(run(nothing, {}, mpi::Comm()),
                         doctest::Contains("'none' has no operator: got a null pointer"),
                         InvalidArgument);
    Options options;
    options.stall_timeout_s = 0;
    CHECK_THROWS_WITH_AS(u.reduce({"sum"}, {}, {}, options),
                         doctest::Contains("stall_timeout is out of range"), InvalidArgument);
}
