// SPDX-License-Identifier: Apache-2.0
// The peer of writing.cpp that has a parallel libhdf5: all ranks write their parts of the same
// field by a collective H5Dwrite, and nothing else. Prints the same line of JSON.
//
//     collective WAY STEPS ELEMENTS FOLDER
//
// WAY is "collective", or "collective-gz": in chunks through libhdf5's filters shuffle and deflate
// at level 1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <hdf5.h>
#include <mpi.h>

namespace {

void die(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

double write_step(hid_t file, bool packed, int step, hsize_t elements, hsize_t first, hsize_t count,
                  const double* values) {
    const hsize_t chunk = std::min<hsize_t>(elements, (4 << 20) / 8);
    const std::string name = "x" + std::to_string(step);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (packed) {
        H5Pset_chunk(properties, 1, &chunk);
        H5Pset_shuffle(properties);
        H5Pset_deflate(properties, 1);
    }
    const hid_t space = H5Screate_simple(1, &elements, nullptr);
    const hid_t memory = H5Screate_simple(1, &count, nullptr);
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    const hid_t dataset = H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                                     properties, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0 ||
        H5Dclose(dataset) < 0) {
        die("libhdf5 cannot write");
    }
    H5Pclose(transfer);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(properties);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc != 5) {
        die("usage: collective WAY STEPS ELEMENTS FOLDER");
    }
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const hsize_t elements = static_cast<hsize_t>(std::atoll(argv[3]));
    const auto part = [&](int number) {
        return elements * static_cast<hsize_t>(number) / static_cast<hsize_t>(size);
    };
    const hsize_t first = part(rank), count = part(rank + 1) - first;
    std::vector<double> values(count);
    for (hsize_t i = 0; i < count; ++i) {  // as in writing.cpp
        const auto at = static_cast<double>(first + i);
        values[i] = std::round(1e5 * std::sin(1e-3 * at) * (1 + 1e-7 * at)) / 1e3;
    }
    const std::string path = std::string(argv[4]) + "/collective.h5";
    const bool packed = std::string(argv[1]) == "collective-gz";
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0) {
        die("libhdf5 cannot create the file");
    }
    for (int step = 0; step <= std::atoi(argv[2]); ++step) {
        const double seconds =
            write_step(file, packed, step, elements, first, count, values.data());
        if (rank == 0 && step > 0) {
            std::printf("%s%.6f", step > 1 ? ", " : "{\"seconds\": [", seconds);
        }
    }
    H5Fclose(file);
    if (rank == 0) {
        std::printf("]}\n");
        std::remove(path.c_str());
    }
    H5Pclose(access);
    MPI_Finalize();
    return 0;
}
