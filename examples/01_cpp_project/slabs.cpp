// SPDX-License-Identifier: Apache-2.0
// Each rank takes its slab of a 1000 x 8 dataset and counts the elements; the sum must be the
// whole.
#include <cstdlib>
#include <iostream>

#include <mpi.h>

#include "fluvial/describe/region.hpp"
#include "fluvial/mpi/comm.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    bool complete = false;
    {
        fluvial::mpi::Comm comm = fluvial::mpi::Comm::duplicate(MPI_COMM_WORLD);
        const fluvial::Region dataset = fluvial::whole({1000, 8});
        const fluvial::Region mine = fluvial::split(dataset, comm.size())[comm.rank()];
        const fluvial::Index elements = comm.sum(mine.volume());
        complete = elements == dataset.volume();
        if (comm.rank() == 0) {
            std::cout << comm.size() << " ranks hold " << elements << " of " << dataset.volume()
                      << " elements\n";
        }
        comm.close();
    }
    MPI_Finalize();
    return complete ? EXIT_SUCCESS : EXIT_FAILURE;
}
