// SPDX-License-Identifier: Apache-2.0
// Folders of Zarr, scanned by all ranks together: as files of the same data.
#include <filesystem>
#include <fstream>

#include "fluvial/scan/scan_reference.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"
#include "fluvial/store/zarr/file.hpp"
#include "fluvial/store/zarr/fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;
using store::MadeArray;
using store::ZarrFixture;

namespace {

constexpr Index times = 12, lats = 6, lons = 10;

/// Variables time, lat, lon and packed t(time, lat, lon), by record.
std::vector<std::byte> climate_in_netcdf() {
    ClassicFixture file;
    file.version = 5;
    file.records = times;
    file.dimensions = {{"time", 0}, {"lat", lats}, {"lon", lons}};
    file.variables = {
        {"time",
         {0},
         ClassicType::Double,
         {{"units", ClassicType::Char, "days since 2000-01-01", {}}}},
        {"lat", {1}, ClassicType::Float},
        {"lon", {2}, ClassicType::Int},
        {"t",
         {0, 1, 2},
         ClassicType::Short,
         {{"units", ClassicType::Char, "K", {}},
          {"scale_factor", ClassicType::Double, {}, {0.5}},
          {"_FillValue", ClassicType::Short, {}, {40}}}},
    };
    return file.build();
}

std::function<double(Index)> values_of(std::size_t variable) {
    return [variable](Index element) {
        return ClassicFixture::value(variable, static_cast<std::uint64_t>(element));
    };
}

/// The same, in chunks that do not divide the shape.
void climate_in_zarr(const ZarrFixture& folder, int version) {
    folder.array("time",
                 {.shape = {times},
                  .chunk = {5},
                  .dimensions = {"time"},
                  .attributes = R"("units": "days since 2000-01-01")",
                  .fill_value = version == 2 ? "null" : "0"},
                 values_of(0));
    folder.array("lat",
                 {.dtype = DType::Float32,
                  .shape = {lats},
                  .chunk = {lats},
                  .dimensions = {"lat"},
                  .fill_value = version == 2 ? "null" : "0"},
                 values_of(1));
    folder.array("lon",
                 {.dtype = DType::Int32,
                  .shape = {lons},
                  .chunk = {4},
                  .dimensions = {"lon"},
                  .fill_value = version == 2 ? "null" : "0"},
                 values_of(2));
    const std::string missing = version == 2 ? "" : R"(, "_FillValue": 40)";
    folder.array("t",
                 {.dtype = DType::Int16,
                  .shape = {times, lats, lons},
                  .chunk = {5, 4, 3},
                  .dimensions = {"time", "lat", "lon"},
                  .attributes = R"("units": "K", "scale_factor": 0.5)" + missing,
                  .fill_value = "40",
                  .big_endian = version == 2,
                  .packed = store::is_built(store::Filter::Kind::Deflate)},
                 values_of(3));
}

/// Names are those in a folder, as ranks must give the same ones.
class Inside {
  public:
    explicit Inside(const std::string& folder) : before_(std::filesystem::current_path()) {
        std::filesystem::current_path(folder);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { std::filesystem::current_path(before_); }

  private:
    std::filesystem::path before_;
};

void check_same(const Reduced& mine, const Reduced& theirs) {
    CHECK(mine.dimensions == theirs.dimensions);
    CHECK(mine.coordinates == theirs.coordinates);
    CHECK(mine.warnings == theirs.warnings);
    REQUIRE(mine.groups.size() == theirs.groups.size());
    for (std::size_t i = 0; i < mine.groups.size(); ++i) {
        check_equal(mine.groups[i], theirs.groups[i]);
    }
}

}  // namespace

TEST_CASE("a variable of Zarr is reduced as that of netCDF") {
    const World world;
    const ScratchFile netcdf(climate_in_netcdf());
    const Variable theirs = Variable::open({netcdf.path()}, "t");
    const std::vector<Operation> operations = {"max", "count", "argmin", "sum"};
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        climate_in_zarr(folder, version);
        const Variable mine = Variable::open({folder.path()}, "t");
        CHECK(mine.coordinate("lat") == theirs.coordinate("lat"));
        for (const auto access : {Options::Access::Copy, Options::Access::InPlace}) {
            Options options;
            options.access = access;
            options.threads = 2;
            const auto reduced = [&](const Variable& variable,
                                     const std::vector<std::string>& over) {
                return variable.reduce(operations, over, world.comm, options);
            };
            check_same(reduced(mine, {"lat", "lon"}), reduced(theirs, {"lat", "lon"}));
            check_same(reduced(mine, {"time"}), reduced(theirs, {"time"}));
            check_same(reduced(mine.isel("time", 1, 11, 3).isel("lon", -1), {}),
                       reduced(theirs.isel("time", 1, 11, 3).isel("lon", -1), {}));
            check_same(reduced(mine.where(Comparison::Greater, 20).groupby("lat"), {}),
                       reduced(theirs.where(Comparison::Greater, 20).groupby("lat"), {}));
        }
    }
}

TEST_CASE("steps of Zarr are its records, as those of netCDF") {
    const World world;
    const ScratchFile netcdf(climate_in_netcdf());
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        climate_in_zarr(folder, version);
        SeriesOptions options;
        options.engine = "zarr";
        const Inside inside(folder.path() + "/..");
        std::filesystem::copy(netcdf.path(), "made.nc");
        Series mine("made.zarr", world.comm, options);
        Series theirs("made.nc", world.comm);
        CHECK(mine.size() == times);
        while (const auto step = mine.next()) {
            const auto other = theirs.next();
            REQUIRE(other);
            CHECK(step->index() == other->index());
            CHECK(step->read("t").shape == Coordinates{lats, lons});
            CHECK(step->read("t").bytes == other->read("t").bytes);
            CHECK(step->read("time").bytes == other->read("time").bytes);
            check_same(step->variable("t").reduce({"mean"}, {"lat"}, world.comm),
                       other->variable("t").reduce({"mean"}, {"lat"}, world.comm));
        }
        CHECK_FALSE(theirs.next());
    }
}

TEST_CASE("a folder for each step by its number") {
    const World world;
    const ZarrFixture folder(3);
    for (const int number : {7, 12}) {
        const std::string name = text("t", number, ".zarr");
        folder.array(name + "/u", {.shape = {4}, .chunk = {3}, .dimensions = {"x"}},
                     [&](Index at) { return static_cast<double>(at + number); });
        folder.group(name);
    }
    const Inside inside(folder.path());
    Series series("t%T.zarr", world.comm);
    CHECK(series.size() == 2);
    for (const int number : {7, 12}) {
        const auto step = series.next();
        REQUIRE(step);
        CHECK(step->index() == static_cast<std::uint64_t>(number));
        const auto reduced = step->variable("u").reduce({"sum"}, {}, world.comm);
        CHECK(reduced.results.at("sum").at("value").as<double>()[0] == 6 + 4 * number);
    }
    CHECK_FALSE(series.next());
}

TEST_CASE("chunks without a codec that are longer than a read") {
    World world;
    const Elements elements = random_elements({6, 40, 70}, world.random);
    const auto value = [&](Index at) { return elements.values[static_cast<std::size_t>(at)]; };
    for (const bool big_endian : {false, true}) {
        const ZarrFixture folder(3);
        folder.array("t", {.shape = elements.shape, .chunk = {4, 40, 64}, .big_endian = big_endian},
                     value);
        const DatasetPtr dataset = store::open_zarr(folder.path())->dataset("t");
        const Selection selection = select(whole(elements.shape));
        Options options;
        options.buffer_bytes = 4096;
        for (const auto access : {Options::Access::Copy, Options::Access::InPlace}) {
            options.access = access;
            const Outcome outcome =
                run({{{{dataset}, {}}}, selection, some_operators(), {1}, {}, {}, {}}, options,
                    world.comm);
            check_equal(outcome.groups.front(), in_memory(elements, selection, {1}));
        }
    }
}

TEST_CASE("chunks that are missing or damaged") {
    World world;
    const Elements ones{{8, 9}, std::vector<double>(72, 1)};
    const ZarrFixture folder(2);
    folder.array("t",
                 {.shape = ones.shape,
                  .chunk = {3, 4},
                  .fill_value = "null",
                  .left_out = [](const Coordinates& cell) { return cell == Coordinates{1, 1}; }},
                 [](Index) { return 1.0; });
    const Variable t = Variable::open({folder.path()}, "t");
    const auto sum = [&] {
        return t.reduce({"sum"}, {}, world.comm).results.at("sum").at("value").as<double>()[0];
    };
    CHECK(sum() == 72 - 12);
    world.comm.barrier();
    folder.write("t/0.2", std::string(95, 'x'));
    CHECK_THROWS_WITH_AS(sum(), doctest::Contains("t/0.2' is damaged: got 95 bytes"), DamagedFile);
}
