// SPDX-License-Identifier: Apache-2.0
/// A netCDF file of known elements that all ranks open, and the straightforward way to every
/// result: read the elements, loop.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include <unistd.h>

#include "fluvial/c/fluvial.h"
#include "fluvial/store/netcdf_classic_fixture.hpp"

namespace fluvial::c {

/// On the disk of rank 0's choice; all ranks together make and end it.
class SharedFile {
  public:
    explicit SharedFile(const std::vector<std::byte>& bytes) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        static int count = 0;
        long pid = ::getpid();
        MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        path_ = std::filesystem::temp_directory_path() /
                ("fluvial_c_" + std::to_string(pid) + "_" + std::to_string(count++) + ".nc");
        if (rank_ == 0) {
            std::ofstream(path_, std::ios::binary)
                .write(reinterpret_cast<const char*>(bytes.data()),
                       static_cast<std::streamsize>(bytes.size()));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_ == 0) {
            std::filesystem::remove(path_);
        }
    }

    std::string path() const { return path_; }
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }

  private:
    std::filesystem::path path_;
    int rank_ = 0, ranks_ = 1;
};

/// Variables time × y × x of every numeric type of netCDF, then "packed".
inline constexpr MPI_Offset times = 12, rows = 5, columns = 7;
inline constexpr const char* names[] = {"byte",  "short",  "int",  "float", "double",
                                        "ubyte", "ushort", "uint", "int64", "uint64"};
enum Variable : std::size_t {
    Byte,
    Short,
    Int,
    Float,
    Double,
    Uint64 = 9,
    variables = 10,
    Packed = 10
};

inline std::vector<std::byte> known_file() {
    using store::ClassicFixture;
    using store::ClassicType;
    ClassicFixture made{5, times};
    made.dimensions = {{"time", 0}, {"y", rows}, {"x", columns}};
    made.attributes = {{"title", ClassicType::Char, "known elements", {}}};
    for (std::uint32_t number = 0; number < variables; ++number) {
        const auto type = static_cast<ClassicType>(number == 0 ? 1 : number + 2);  // but for char
        made.variables.push_back({names[number], {0, 1, 2}, type});
    }
    made.variables.push_back({"packed",
                              {0, 1, 2},
                              ClassicType::Short,
                              {{"scale_factor", ClassicType::Double, "", {0.5}},
                               {"add_offset", ClassicType::Double, "", {100}},
                               {"_FillValue", ClassicType::Short, "", {7}},
                               {"missing_value", ClassicType::Double, "", {1e6}}}});
    return made.build();
}

/// Calls use(value, linear index) for each element of a variable that a region selects.
inline void for_region(std::size_t variable, const MPI_Offset* start, const MPI_Offset* count,
                       const MPI_Offset* stride,
                       const std::function<void(double, MPI_Offset)>& use) {
    for (MPI_Offset t = 0; t < count[0]; ++t) {
        for (MPI_Offset y = 0; y < count[1]; ++y) {
            for (MPI_Offset x = 0; x < count[2]; ++x) {
                const MPI_Offset linear =
                    ((start[0] + t * stride[0]) * rows + start[1] + y * stride[1]) * columns +
                    start[2] + x * stride[2];
                use(store::ClassicFixture::value(variable, static_cast<std::uint64_t>(linear)),
                    linear);
            }
        }
    }
}

}  // namespace fluvial::c
