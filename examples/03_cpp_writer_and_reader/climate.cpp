// SPDX-License-Identifier: Apache-2.0
// Writes labelled arrays that every program for climate data reads: netCDF, a record for each step.
// Each rank has its latitudes; no parallel netCDF library is needed.
#include <cmath>
#include <vector>

#include <mpi.h>

#include "fluvial/stage.hpp"

using namespace fluvial;

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const Coordinates shape = {90, 180};
    const Region mine = split(whole(shape), comm.size())[static_cast<std::size_t>(comm.rank())];

    std::vector<double> lat, lon;
    for (Index row = 0; row < mine.extent[0]; ++row) {
        lat.push_back(-89 + 2 * static_cast<double>(mine.offset[0] + row));
    }
    for (Index column = 0; column < shape[1]; ++column) {
        lon.push_back(2 * static_cast<double>(column));
    }

    stage::SeriesWriter writer(argc > 1 ? argv[1] : "climate.nc", comm,
                               {.compression = argc > 2 ? argv[2] : "none"});
    writer.set_attributes({{"Conventions", "CF-1.8"}});
    for (int day = 0; day < 5; ++day) {
        stage::SeriesWriteStep step = writer.begin_step();
        // A dataset that is called like its axis is the coordinate of that axis, and a number that
        // is called time the coordinate of the steps.
        step.put("lat", ArrayView(lat.data(), DType::Float64, {mine.extent[0]}), {mine.offset[0]},
                 {shape[0]}, {{"axisLabels", "lat"}, {"units", "degrees_north"}});
        if (comm.rank() == 0) {
            const double time = day;
            step.put("lon", ArrayView(lon.data(), DType::Float64, {shape[1]}), {0}, {shape[1]},
                     {{"axisLabels", "lon"}, {"units", "degrees_east"}});
            step.put("time", ArrayView(&time, DType::Float64, {}), {}, {},
                     {{"units", "days since 2026-01-01"}});
        }
        const MutableArrayView rows =
            step.span("t2m", DType::Float32, mine, shape,
                      {{"axisLabels", std::vector<std::string>{"lat", "lon"}}, {"units", "K"}});
        auto* t = reinterpret_cast<float*>(rows.data);
        for (Index row = 0; row < mine.extent[0]; ++row) {
            for (Index column = 0; column < shape[1]; ++column) {
                const double south = lat[static_cast<std::size_t>(row)] * 3.14159265 / 180;
                *t++ = static_cast<float>(250 + day + 50 * std::cos(south));
            }
        }
        step.end();
    }
    writer.close();
    comm.close();
}
