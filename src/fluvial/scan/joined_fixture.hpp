// SPDX-License-Identifier: Apache-2.0
/// Files of one climate in several parts, and what is in all of them: for tests of what joins them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <unistd.h>

#include "fluvial/store/file.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

namespace fluvial::scan {

inline constexpr Index lats = 4, lons = 5;
inline constexpr double fill = 40, scale = 0.5;

/// time(time), lat(lat), lon(lon), packed t(time, lat, lon) and u(time, lat, lon), by record.
inline store::ClassicFixture climate(std::uint64_t records,
                                     const std::string& since = "days since 2000-01-01") {
    using store::ClassicType;
    store::ClassicFixture file;
    file.version = 5;
    file.records = records;
    file.dimensions = {{"time", 0}, {"lat", lats}, {"lon", lons}};
    file.variables = {
        {"time", {0}, ClassicType::Double, {{"units", ClassicType::Char, since, {}}}},
        {"lat", {1}, ClassicType::Float},
        {"lon", {2}, ClassicType::Int},
        {"t",
         {0, 1, 2},
         ClassicType::Short,
         {{"scale_factor", ClassicType::Double, {}, {scale}},
          {"_FillValue", ClassicType::Short, {}, {fill}}}},
        {"u", {0, 1, 2}, ClassicType::Double},
    };
    return file;
}

/// A working directory of this process alone, so that ranks name their files alike.
class OwnFolder {
  public:
    OwnFolder()
        : before_(std::filesystem::current_path()),
          path_(std::filesystem::temp_directory_path() / text("fluvial_joined_", ::getpid())) {
        std::filesystem::create_directory(path_);
        std::filesystem::current_path(path_);
    }
    OwnFolder(const OwnFolder&) = delete;
    OwnFolder& operator=(const OwnFolder&) = delete;
    ~OwnFolder() {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(path_);
    }

  private:
    std::filesystem::path before_, path_;
};

using Paths = std::vector<std::string>;

/// Writes each into a file of the working directory.
inline Paths write(const std::vector<store::ClassicFixture>& files) {
    static int count = 0;
    Paths paths;
    for (const store::ClassicFixture& file : files) {
        const store::ClassicFixture::Bytes bytes = file.build();
        paths.push_back(text("part", count++, ".nc"));
        std::ofstream(paths.back(), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    return paths;
}

/// A climate with so many records in each file, which begins a month after the one before it.
inline Paths write_months(const std::vector<std::uint64_t>& records) {
    std::vector<store::ClassicFixture> files;
    for (std::size_t i = 0; i < records.size(); ++i) {
        files.push_back(climate(records[i], text("days since 2000-0", i + 1, "-01")));
    }
    return write(files);
}

/// All elements of a dataset in these files, one file after the other, as they are stored.
inline std::vector<double> stored_in(const Paths& paths, const std::string& name) {
    std::vector<double> all;
    for (const auto& path : paths) {
        const auto dataset = store::open_file(path)->dataset(name);
        const auto count = static_cast<std::size_t>(volume_of(dataset->shape()));
        const auto read = [&]<class Number>(std::vector<Number> values) {
            dataset->read(whole(dataset->shape()),
                          {reinterpret_cast<std::byte*>(values.data()), dataset->dtype(),
                           dataset->shape(), contiguous_strides(dataset->shape(), sizeof(Number))});
            all.insert(all.end(), values.begin(), values.end());
        };
        if (dataset->dtype() == DType::Int16) {
            read(std::vector<std::int16_t>(count));
        } else {
            read(std::vector<double>(count));
        }
    }
    return all;
}

/// The same of t, decoded: NaN where there is no value.
inline std::vector<double> temperatures_in(const Paths& paths) {
    std::vector<double> all = stored_in(paths, "t");
    for (double& value : all) {
        value = value == fill ? std::numeric_limits<double>::quiet_NaN() : value * scale;
    }
    return all;
}

}  // namespace fluvial::scan
