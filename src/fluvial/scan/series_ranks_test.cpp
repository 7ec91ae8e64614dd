// SPDX-License-Identifier: Apache-2.0
// Ranks that open a series together, or each another one.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/scan_reference.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ClassicFixture;
using store::ClassicType;

namespace {

constexpr std::uint64_t columns = 6;

/// u(time, x), by record.
std::vector<std::byte> records(std::uint64_t count) {
    ClassicFixture file;
    file.version = 5;
    file.records = count;
    file.dimensions = {{"time", 0}, {"x", columns}};
    file.variables = {{"u", {0, 1}, ClassicType::Double}};
    return file.build();
}

/// The file "u.nc" in a working directory of this process alone: as ranks on several hosts may have
/// different files by one name.
class OwnFile {
  public:
    explicit OwnFile(std::uint64_t count)
        : before_(std::filesystem::current_path()),
          folder_(std::filesystem::temp_directory_path() /
                  text("fluvial_series_ranks_", ::getpid())) {
        std::filesystem::create_directory(folder_);
        std::filesystem::current_path(folder_);
        const ScratchFile file(records(count));
        std::filesystem::copy(file.path(), "u.nc");
    }
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;
    ~OwnFile() {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(folder_);
    }

  private:
    std::filesystem::path before_, folder_;
};

}  // namespace

TEST_CASE("all ranks reduce each step together") {
    World world;
    const OwnFile file(3);
    std::uint64_t at = 0;
    Series series("u.nc", world.comm);
    while (const auto step = series.next()) {
        const Reduced reduced = step->variable("u").reduce({"sum"}, {}, world.comm);
        double sum = 0;
        for (std::uint64_t x = 0; x < columns; ++x) {
            sum += ClassicFixture::value(0, at * columns + x);
        }
        CHECK(reduced.results.at("sum").at("value").as<double>()[0] == sum);
        ++at;
    }
    CHECK(at == 3);
}

TEST_CASE("ranks that open something else are told so on all of them") {
    World world;
    const bool last = world.comm.rank() == world.comm.size() - 1;
    const OwnFile file(last ? 2 : 3);
    CHECK_THROWS_WITH_AS(Series("u.nc", world.comm),
                         doctest::Contains("the number of steps in the files"), InvalidArgument);
    CHECK_THROWS_WITH_AS(Series(last ? "u.nc" : "v.nc", world.comm),
                         doctest::Contains("the name of a series"), InvalidArgument);
    SeriesOptions options;
    options.engine = last ? "stage" : "netcdf";
    CHECK_THROWS_WITH_AS(Series("u.nc", world.comm, options), doctest::Contains("a stream"),
                         InvalidArgument);
}
