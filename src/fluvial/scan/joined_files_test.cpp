// SPDX-License-Identifier: Apache-2.0
// Several files as one, on several ranks; what serves as reference reads each file by itself.
#include "fluvial/scan/joined_files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/scan/joined_fixture.hpp"
#include "fluvial/scan/scan_reference.hpp"
#include "fluvial/scan/series.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;

namespace {

constexpr Index grid = lats * lons;

double number(const std::map<std::string, compute::Result>& results, const std::string& name,
              std::size_t i = 0) {
    return results.at(name).at("value").as<double>()[i];
}

/// Of the values that count, among records from `begin` to `end`, every `stride`-th.
std::vector<double> counted(const std::vector<double>& all, Index begin, Index end,
                            Index stride = 1) {
    std::vector<double> found;
    for (Index record = begin; record < end; record += stride) {
        for (Index i = record * grid; i < (record + 1) * grid; ++i) {
            if (!std::isnan(all[static_cast<std::size_t>(i)])) {
                found.push_back(all[static_cast<std::size_t>(i)]);
            }
        }
    }
    return found;
}

double sum_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum;
}

/// The same on every rank, with files of its own by the same names.
struct Ranks : World {
    OwnFolder folder;
};

/// A file that somebody is writing.
class GrowingFile final : public store::File {
  public:
    explicit GrowingFile(const std::string& path) : file_(store::open_file(path)) {}
    const std::string& path() const override { return file_->path(); }
    std::string format() const override { return file_->format(); }
    const Attributes& attributes() const override { return file_->attributes(); }
    const std::vector<store::Dimension>& dimensions() const override { return file_->dimensions(); }
    const std::vector<std::string>& names() const override { return file_->names(); }
    bool grows() const override { return true; }
    DatasetPtr dataset(const std::string& name) const override { return file_->dataset(name); }

  private:
    JoinedFiles::FilePtr file_;
};

bool on_last(const Ranks& world) {
    return world.comm.rank() == world.comm.size() - 1;
}

}  // namespace

TEST_CASE("one scan reduces all records of all files, whose elements the ranks share") {
    Ranks world;
    const Paths files = write_months({3, 0, 5, 1});
    const std::vector<double> all = temperatures_in(files);
    const std::vector<double> some = counted(all, 0, 9);
    const Variable t = Variable::open(files, "t");
    CHECK(t.shape() == Coordinates{9, lats, lons});
    const Reduced reduced =
        t.reduce({"mean", "max", "count", "argmax", {"quantile", {{"q", 0.5}}}}, {}, world.comm);
    CHECK(number(reduced.results, "mean") ==
          doctest::Approx(sum_of(some) / static_cast<double>(some.size())).epsilon(1e-15));
    CHECK(number(reduced.results, "max") == *std::max_element(some.begin(), some.end()));
    CHECK(*reduced.results.at("count").at("value").as<Index>() == static_cast<Index>(some.size()));
    std::vector<double> sorted = some;
    std::sort(sorted.begin(), sorted.end());
    CHECK(number(reduced.results, "quantile") ==
          doctest::Approx((sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2)
              .epsilon(0.02));
    const auto first = std::find(all.begin(), all.end(), number(reduced.results, "max"));
    const Coordinates place = coordinates_of(first - all.begin(), {9, lats, lons});
    const auto* const found = reduced.results.at("argmax").at("coordinates").as<std::int64_t>();
    CHECK(Coordinates{found[0], found[1], found[2]} == place);
    CHECK(world.comm.sum(static_cast<Index>(reduced.stats.elements)) == 9 * grid);
    CHECK(reduced.warnings.empty());
    Options options;
    options.reproducible = true;  // nobody helps the others, so each has its share
    const Reduced shared = t.reduce({"sum"}, {}, world.comm, options);
    CHECK(shared.stats.elements > 0);
    CHECK(number(shared.results, "sum") == sum_of(some));
}

TEST_CASE("what is kept and grouped along the joined axis goes over the borders of files") {
    Ranks world;
    const Paths files = write_months({3, 0, 5, 1});
    const std::vector<double> all = temperatures_in(files);
    const Variable t = Variable::open(files, "t");
    const Reduced kept = t.isel("time", 1, 9, 3).reduce({"sum"}, {"lat", "lon"}, world.comm);
    CHECK(kept.dimensions == std::vector<std::string>{"time"});
    const std::vector<double> times = {7, 60 + 7, 60 + 28};  // days since 2000-01-01
    CHECK(kept.coordinates.at("time") == times);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto record = static_cast<Index>(1 + 3 * i);
        CHECK(number(kept.results, "sum", i) == sum_of(counted(all, record, record + 1)));
    }
    const std::vector<int> halves = {0, 0, 0, 0, 1, 1, 1, 1, 1};
    const Reduced grouped = t.groupby("time", halves).reduce({"sum"}, {}, world.comm);
    REQUIRE(grouped.groups.size() == 2);
    CHECK(number(grouped.groups[0], "sum") == sum_of(counted(all, 0, 4)));
    CHECK(number(grouped.groups[1], "sum") == sum_of(counted(all, 4, 9)));
    // Days 14 to 67: the last record of the first file, and two of the third.
    const Reduced chosen = t.sel("time", 14, 67).reduce({"sum"}, {}, world.comm);
    CHECK(number(chosen.results, "sum") == sum_of(counted(all, 2, 5)));
}

TEST_CASE("datasets without the joined dimension are those of the first file") {
    Ranks world;
    const Paths files = write_months({2, 3});
    const Variable lat = Variable::open(files, "lat");
    CHECK(lat.shape() == Coordinates{lats});
    const Series year(files, world.comm);
    CHECK(year.at(4).read("lat").shape == Coordinates{lats});
    CHECK(year.at(4).dataset("lat")->bytes().path() == files[0]);
}

TEST_CASE("the records of all files are the steps of a series") {
    Ranks world;
    const Paths files = write_months({2, 0, 3});
    const std::vector<double> all = temperatures_in(files);
    const std::vector<double> wind = stored_in(files, "u");
    Series year(files, world.comm);
    CHECK(year.size() == 5);
    Index at = 0;
    while (const auto step = year.next()) {
        CHECK(step->index() == static_cast<std::uint64_t>(at));
        CHECK(step->has("t"));
        const Variable t = step->variable("t");
        CHECK(t.shape() == Coordinates{1, lats, lons});
        CHECK(t.coordinate("time").front() == (at < 2 ? 7.0 * at : 60 + 7.0 * (at - 2)));
        const Reduced reduced = t.where(step->variable("u"), Comparison::GreaterEqual, 0)
                                    .reduce({"sum"}, {}, world.comm);
        CHECK(number(reduced.results, "sum") == sum_of(counted(all, at, at + 1)));
        const compute::Array read = step->read("u");
        CHECK(read.shape == Coordinates{lats, lons});
        CHECK(std::equal(read.as<double>(), read.as<double>() + grid, wind.begin() + at * grid));
        CHECK(step->dataset("u")->bytes().path() == files[at < 2 ? 0 : 2]);
        ++at;
    }
    CHECK(at == 5);
    const Reduced together = year.variable("t").reduce({"sum"}, {}, world.comm);
    CHECK(number(together.results, "sum") == sum_of(counted(all, 0, 5)));
}

TEST_CASE("a pattern is its files by name, a list those in its order") {
    Ranks world;
    const Paths files = write_months({1, 2, 3});
    for (const auto& [from, to] :
         {std::pair(2, "run_3.nc"), std::pair(0, "run_1.nc"), std::pair(1, "run_2.nc")}) {
        std::filesystem::copy(files[static_cast<std::size_t>(from)], to);
    }
    const std::string pattern = "run_?.nc";
    const Series sorted(pattern, world.comm);
    CHECK(sorted.size() == 6);
    CHECK(sorted.at(1).dataset("t")->bytes().path() == "run_2.nc");
    const Series listed({"run_3.nc", "run_1.nc"}, world.comm);
    CHECK(listed.at(0).dataset("t")->bytes().path() == "run_3.nc");
    CHECK(Variable::open(pattern, "t").shape()[0] == 6);
    CHECK_THROWS_WITH_AS(Series("x_*.nc", world.comm), doctest::Contains("no such files"),
                         NoSuchFile);
    CHECK_THROWS_WITH_AS(Series({"run_1.nc", "x_*.nc", "run_2.nc"}, world.comm),
                         doctest::Contains("no such files: got 'x_*.nc'; allowed"), NoSuchFile);
}

TEST_CASE("files out of order are named where what is selected lies in both") {
    Ranks world;
    const Paths files =
        write({climate(2, "days since 2000-01-01"), climate(2, "days since 2000-01-02"),
               climate(2, "days since 2000-02-01")});
    const Variable t = Variable::open(files, "t");
    const Reduced all = t.reduce({"mean"}, {}, world.comm);
    REQUIRE(all.warnings.size() == 1);
    CHECK(all.warnings[0].find("got 1 days since 2000-01-01 as the first of '" + files[1] +
                               "', and 7 days since 2000-01-01 as the last of '" + files[0]) !=
          std::string::npos);
    CHECK(t.isel("time", 0, 2).reduce({"mean"}, {}, world.comm).warnings.empty());
    CHECK(t.isel("time", 2, 6).reduce({"mean"}, {}, world.comm).warnings.empty());
    CHECK(t.isel("time", 1, 3).reduce({"mean"}, {}, world.comm).warnings.size() == 1);
    const std::vector<std::string> down = {files[2], files[0]};
    CHECK(Variable::open(down, "t")
              .isel("time", 1, 3)
              .reduce({"mean"}, {}, world.comm)
              .warnings.size() == 1);
    const Paths single =
        write({climate(1, "days since 2000-03-01"), climate(1, "days since 2000-02-01"),
               climate(1, "days since 2000-01-01")});
    CHECK(Variable::open(single, "t").reduce({"mean"}, {}, world.comm).warnings.empty());
}

TEST_CASE("files that do not fit are refused by name, on every rank") {
    Ranks world;
    const auto refused = [&](const ClassicFixture& second, const std::string& said) {
        CAPTURE(said);
        const Paths files = write({climate(2), second});
        CHECK_THROWS_WITH_AS(Variable::open(files, "t").reduce({"mean"}, {"time"}, world.comm),
                             doctest::Contains(said.c_str()), InvalidArgument);
    };
    ClassicFixture packed = climate(2);
    packed.variables[3].attributes[0].values = {0.25};
    refused(packed, "scale_factor = 0.25 in '");
    packed.variables[3].attributes = {packed.variables[3].attributes[1]};
    refused(packed, "the files store 't' differently: got scale_factor = none in '");
    const auto in_units = [](const char* units) {
        ClassicFixture file = climate(2);
        file.variables[3].attributes.push_back({"units", ClassicType::Char, units, {}});
        return file;
    };
    const Paths of_two_units = write({in_units("K"), in_units("degC")});
    const Variable mixed = Variable::open(of_two_units, "t");
    CHECK_THROWS_WITH_AS(mixed.reduce({"mean"}, {}, world.comm),
                         doctest::Contains("got units = 'degC' in '"), InvalidArgument);
    CHECK(mixed.raw().reduce({"count"}, {}, world.comm).results.size() == 1);
    const Paths of_one = write({in_units("K"), climate(2)});  // the other does not say any
    CHECK(Variable::open(of_one, "t").reduce({"count"}, {}, world.comm).results.size() == 1);
    const Paths of_two_days = write_months({2, 2});
    CHECK_THROWS_WITH_AS(Variable::open(of_two_days, "time").reduce({"max"}, {}, world.comm),
                         doctest::Contains("got units = 'days since 2000-02-01' in '"),
                         InvalidArgument);
    ClassicFixture coarse = climate(2);
    coarse.dimensions[1].length = 3;
    refused(coarse, "cannot join 't' of '");
    ClassicFixture square = climate(2), turned = climate(2);
    square.dimensions[1].length = turned.dimensions[1].length = lons;
    turned.variables[3].dimensions = {0, 2, 1};
    const Paths of_other_axes = write({square, turned});
    const std::string axes = "got axes 'time', 'lon', 'lat'; allowed: 'time', 'lat', 'lon' as in '";
    CHECK_THROWS_WITH_AS(Variable::open(of_other_axes, "t"), doctest::Contains(axes.c_str()),
                         InvalidArgument);
    CHECK(Variable::open(of_other_axes, "u").shape() == Coordinates{4, lons, lons});
    ClassicFixture real = climate(2);
    real.variables[3].type = ClassicType::Float;
    refused(real, "got float32");
    ClassicFixture elsewhere = climate(2);
    elsewhere.variables[1].attributes = {{"add_offset", ClassicType::Double, {}, {1}}};
    refused(elsewhere, "the files differ in coordinate 'lat': got 14 at 0 in '");
    const Paths shifted = write({climate(2), elsewhere});
    CHECK_THROWS_WITH_AS(Variable::open(shifted, "t").reduce({"mean"}, {}, world.comm),
                         doctest::Contains("differ in coordinate 'lat'"), InvalidArgument);
    ClassicFixture without = climate(2);
    without.variables.erase(without.variables.begin() + 3);
    refused(without, "'t'");
    const Paths cut = write({climate(2), climate(2, "furlongs")});
    const Variable t = Variable::open(cut, "t");
    const Reduced kept = t.reduce({"mean"}, {"lat", "lon"}, world.comm);
    CHECK(kept.coordinates.empty());
    CHECK(kept.warnings.at(0).find("'time' is left out: files say units 'furlongs' in '") !=
          std::string::npos);
    CHECK_THROWS_WITH_AS(t.sel("time", 0, 1), doctest::Contains("counts otherwise in each file"),
                         InvalidArgument);
}

TEST_CASE("times may be of another type in each file, what is reduced or read may not") {
    Ranks world;
    ClassicFixture second = climate(2, "days since 2000-02-01");
    second.variables[0].type = ClassicType::Int;
    const Paths files = write({climate(2), second});
    const Variable t = Variable::open(files, "t");
    const Reduced kept = t.reduce({"mean"}, {"lat", "lon"}, world.comm);
    CHECK(kept.coordinates.at("time") == std::vector<double>{0, 7, 31, 38});
    CHECK(t.sel("time", 7, 31).shape()[0] == 2);
    CHECK_THROWS_WITH_AS(Variable::open(files, "time"),
                         doctest::Contains("got int32(2,); allowed: float64(2,)"), InvalidArgument);
    CHECK_THROWS_WITH_AS(Series(files, world.comm).at(3).read("time"),
                         doctest::Contains("cannot join 'time'"), InvalidArgument);
}

TEST_CASE("what is wrong with the files of one rank is an error on all") {
    Ranks world;
    ClassicFixture second = climate(2, "days since 2000-03-01");
    if (on_last(world)) {
        second.variables[1].attributes = {{"add_offset", ClassicType::Double, {}, {1}}};
    }
    const Paths differing = write({climate(2), second});
    CHECK_THROWS_WITH_AS(Variable::open(differing, "t").reduce({"mean"}, {"time"}, world.comm),
                         doctest::Contains("the files differ in coordinate 'lat'"),
                         InvalidArgument);
    if (world.comm.size() == 1) {
        return;
    }
    Paths longer = write({climate(2), climate(on_last(world) ? 3 : 2)});
    CHECK_THROWS_WITH_AS(Series(longer, world.comm),
                         doctest::Contains("the number of steps in the files"), InvalidArgument);
    if (on_last(world)) {
        std::filesystem::remove(longer[1]);
    }
    CHECK_THROWS_WITH_AS(Series(longer, world.comm), doctest::Contains("cannot open the file"),
                         NoSuchFile);
    std::filesystem::copy(longer[0], on_last(world) ? "run_a.nc" : "run_b.nc");
    CHECK_THROWS_WITH_AS(Series("run_*.nc", world.comm), doctest::Contains("the files"),
                         InvalidArgument);
}

TEST_CASE("a file that is removed while it is open is read, one that is cut is damaged") {
    Ranks world;
    const Paths files = write_months({2, 3});
    const std::vector<double> all = temperatures_in(files);
    const Variable t = Variable::open(files, "t");
    std::filesystem::rename(files[1], "elsewhere.nc");
    CHECK(number(t.reduce({"sum"}, {}, world.comm).results, "sum") == sum_of(counted(all, 0, 5)));
    std::filesystem::resize_file("elsewhere.nc", std::filesystem::file_size("elsewhere.nc") - 300);
    CHECK_THROWS_AS(t.reduce({"sum"}, {}, world.comm), DamagedFile);
}

TEST_CASE("of several files only the last may still be written") {
    Ranks world;
    const Paths paths = write_months({2, 3});
    const auto growing = std::make_shared<const GrowingFile>(paths[0]);
    const std::vector<JoinedFiles::FilePtr> first = {growing, store::open_file(paths[1])};
    CHECK_THROWS_WITH_AS(JoinedFiles{first}, doctest::Contains("got 'part"), InvalidArgument);
    const JoinedFiles last({store::open_file(paths[1]), growing});
    CHECK(last.parts_of("t").size() == 2);
    CHECK(JoinedFiles(growing).parts_of("t").size() == 1);
}

TEST_CASE("a variable whose axis of records is not the first cannot be joined") {
    Ranks world;
    ClassicFixture fixed;
    fixed.version = 5;
    fixed.dimensions = {{"time", 2}, {"x", 3}};
    fixed.variables = {{"time", {0}, ClassicType::Double},
                       {"t", {0, 1}, ClassicType::Double},
                       {"turned", {1, 0}, ClassicType::Double}};
    const Paths files = write({fixed, fixed});
    CHECK(Variable::open(files, "t").shape() == Coordinates{4, 3});
    CHECK_THROWS_WITH_AS(Variable::open(files, "turned"), doctest::Contains("cannot be joined"),
                         InvalidArgument);
    CHECK(Series(files, world.comm).size() == 4);
    fixed.variables[2].name = "x";  // of two axes it is no coordinate
    const Variable t = Variable::open(write({fixed, fixed}), "t");
    CHECK(t.reduce({"mean"}, {"time"}, world.comm).coordinates.empty());
}
