// SPDX-License-Identifier: Apache-2.0
// Reader: computes mean and maximum of each step on all its ranks, where the data lies, and looks
// at one row, which is a view of the writer's memory.
#include <iostream>

#include <mpi.h>

#include "fluvial/stage.hpp"

using namespace fluvial;

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    stage::ReduceRequest request;
    request.datasets = {"meshes/T"};
    request.entries = {{"mean", compute::make_operator("mean"), {}},
                       {"max", compute::make_operator("max"), {}}};

    stage::Reader reader("plate", comm);
    while (auto step = reader.next()) {
        const auto found = stage::reduce(*step, request, comm);
        const stage::Data row = step->dataset("meshes/T").read(select({{7, 0}, {1, 64}}));
        if (comm.rank() == 0) {
            std::cout << "step " << step->index() << ": mean "
                      << *found.at("mean").at("value").as<double>() << ", max "
                      << *found.at("max").at("value").as<double>() << ", row 7 "
                      << *reinterpret_cast<const double*>(row.view.data)
                      << (row.copied ? " (copied)" : "") << '\n';
        }
    }
    reader.close();
    comm.close();
}
