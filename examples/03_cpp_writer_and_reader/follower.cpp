// SPDX-License-Identifier: Apache-2.0
// Follows what the writer writes, whether it is a stream ("./follower plate") or files ("./follower
// plate.h5", "./follower 'plate%T.h5'"), and computes on all its ranks, step after step to the end.
#include <iostream>

#include <mpi.h>

#include "fluvial/scan.hpp"

using namespace fluvial;

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    scan::Series series(argc > 1 ? argv[1] : "plate", comm, {.follow = true});
    while (const auto step = series.next()) {
        const scan::Reduced t = step->variable("meshes/T").reduce({"mean", "max"}, {}, comm);
        if (comm.rank() == 0) {
            std::cout << "step " << step->index() << ": mean "
                      << *t.results.at("mean").at("value").as<double>() << ", max "
                      << *t.results.at("max").at("value").as<double>() << std::endl;
        }
    }
    series.close();
    comm.close();
}
