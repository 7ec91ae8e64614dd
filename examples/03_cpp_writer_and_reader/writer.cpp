// SPDX-License-Identifier: Apache-2.0
// Writer: each rank fills its rows of a temperature field in place, inside the staging area, so
// that nothing is copied. "./writer plate.h5" writes the same into a file, and "./writer plate.h5
// gzip" has each rank compress its part.
#include <mpi.h>

#include "fluvial/stage.hpp"

using namespace fluvial;

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const Coordinates shape = {120, 64};
    const Region mine = split(whole(shape), comm.size())[static_cast<std::size_t>(comm.rank())];

    stage::SeriesWriterOptions options{.stream = {.queue_steps = 4}};
    options.compression = argc > 2 ? argv[2] : "none";
    stage::SeriesWriter writer(argc > 1 ? argv[1] : "plate", comm, options);
    for (int i = 0; i < 10; ++i) {
        stage::SeriesWriteStep step = writer.begin_step({{"time", 0.5 * i}});
        const MutableArrayView rows = step.span("meshes/T", DType::Float64, mine, shape);
        auto* t = reinterpret_cast<double*>(rows.data);
        for (Index row = 0; row < mine.extent[0]; ++row) {
            for (Index column = 0; column < mine.extent[1]; ++column) {
                t[row * mine.extent[1] + column] =
                    300.0 + i + static_cast<double>(mine.offset[0] + row);
            }
        }
        step.end();
    }
    writer.close();
    comm.close();
}
