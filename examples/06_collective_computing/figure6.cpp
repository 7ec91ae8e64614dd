// SPDX-License-Identifier: Apache-2.0
// Figure 6 in C++: the same function, the same shares.
//   mpiexec -n 3 build/figure6_cpp t.nc temperature
#include <iostream>

#include "fluvial/scan.hpp"

using namespace fluvial;

void compute_sum(void* in, void* out, int* length, void* /*type*/) {
    for (int i = 0; i < *length; ++i) {
        static_cast<float*>(out)[i] += static_cast<float*>(in)[i];
    }
}

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const auto data = store::open_file(argv[1])->dataset(argv[2]);

    scan::Request request;
    request.inputs = {{{data}, {}}};
    request.selection = select(split(whole(data->shape()), comm.size())[comm.rank()]);
    request.entries = {{"sum", compute::make_mpi_operator(compute_sum, DType::Float32), {}}};
    scan::Options options;
    options.shuffle = scan::Options::Shuffle::ToOne;  // all shares are parts of one reduction
    scan::Scan scan(std::move(request), options, comm);
    scan.start();
    // ... what the program does meanwhile ...
    const scan::Outcome outcome = scan.wait();

    const float sum = *outcome.groups[0].at("sum").at("value").as<float>();
    if (comm.rank() == 0) {
        std::cout << "sum of " << argv[2] << ": " << static_cast<long>(sum) << ", by "
                  << comm.size() << " ranks\n";
    }
    comm.close();
}
