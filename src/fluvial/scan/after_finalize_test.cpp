// SPDX-License-Identifier: Apache-2.0
// A scan that is waited for after MPI_Finalize is an error, and does not end the process. A program
// of its own, because MPI ends once.
#include <cstdlib>
#include <string>

#include "fluvial/compute/registry.hpp"
#include "fluvial/mpi/after_finalize_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using mpi::refused;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    std::mt19937_64 random(1);
    const DatasetPtr data = affine_dataset(random_elements({60, 50}, random), false, 0, 0);
    const auto request = [&] {
        return Request{{{{data}, {}}}, {}, {{"sum", compute::make_operator("sum"), {}}}, {}};
    };
    Scan together(request(), {}, world());
    Scan alone(request(), {}, mpi::Comm());
    Options options;
    options.on_calling_thread = true;
    Scan waiting(request(), options, world());
    together.start();
    alone.start();
    waiting.start();
    world().abandon();
    MPI_Finalize();
    refused("test", [&] { together.test(); });
    refused("wait", [&] { together.wait(); });
    refused("wait again", [&] { together.wait(); });
    refused("test of a scan on this thread", [&] { waiting.test(); });
    refused("wait for a scan on this thread", [&] { waiting.wait(); });
    while (!alone.test()) {
    }
    const bool goes_on = alone.wait().groups.size() == 1;  // without MPI
    return mpi::not_refused == 0 && goes_on ? EXIT_SUCCESS : EXIT_FAILURE;
}
