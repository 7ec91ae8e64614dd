// SPDX-License-Identifier: Apache-2.0
// Two tasks of hurricane analysis on WRF output, in one pass over the file: the lowest sea-level
// pressure and the strongest 10 m wind of every time step, and where they are.
//   mpiexec -n 2 build/hurricane wrfout.nc
#include <cmath>
#include <cstdio>

#include "fluvial/scan.hpp"

using namespace fluvial;

/// hPa, from the pressure at the surface (Pa), temperature (K) and water vapour (kg/kg) at 2 m, and
/// the terrain's height (m): hydrostatic, through the virtual temperature half-way down.
double sea_level_pressure(double surface, double warmth, double vapour, double height) {
    const double between = warmth * (1 + 0.608 * vapour) + 0.0065 * height / 2;
    return surface / 100 * std::exp(9.81 * height / (287.0 * between));
}

void print(const char* title, const char* unit, const compute::Result& found) {
    const compute::Array& value = found.at("value");
    const double* const numbers = value.as<double>();
    const Index* const where = found.at("coordinates").as<Index>();
    std::printf("%s\n", title);
    for (Index step = 0; step < value.shape[0]; ++step) {
        std::printf("%4ld %9.3f %s at (%ld, %ld)\n", step, numbers[step], unit, where[3 * step + 1],
                    where[3 * step + 2]);
    }
}

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    if (argc != 2) {
        std::fprintf(stderr, "usage: hurricane FILE\n");
        return 2;
    }
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const auto file = store::open_file(argv[1]);
    scan::Request request;
    for (const char* const name : {"PSFC", "T2", "Q2", "HGT", "U10", "V10"}) {
        request.inputs.push_back({{file->dataset(name)}, {}});
    }
    const auto speed = [](double u, double v) { return std::hypot(u, v); };
    request.entries = {
        {"pressure",
         compute::make_apply<double, 4>(sea_level_pressure, compute::make_operator("argmin")),
         {0, 1, 2, 3}},
        {"wind", compute::make_apply<double, 2>(speed, compute::make_operator("argmax")), {4, 5}},
    };
    request.over = {1, 2};  // south_north and west_east; Time is kept
    const auto found = scan::run(std::move(request), {}, comm).groups[0];
    if (comm.rank() == 0) {
        print("lowest sea-level pressure", "hPa", found.at("pressure"));
        print("strongest 10 m wind", "m/s", found.at("wind"));
    }
    comm.close();
}
