// SPDX-License-Identifier: Apache-2.0
// An object I/O, as in Figure 6 of "Collective Computing for Scientific Big Data Analysis": each
// rank asks for its share of the first axis, and a function of the user's reduces all of it while
// it is read, as the program goes on.
//   mpiexec -n 3 build/figure6 t.nc temperature
#include <fluvial/c/fluvial.h>
#include <stdio.h>
#include <stdlib.h>

static void compute(void* in, void* out, int* len, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *len; i++) {
        ((float*)out)[i] += ((float*)in)[i];
    }
}

// An error on one rank is an error on all of them, so that all end here together.
static void must(int code) {
    if (code == FLUVIAL_OK) {
        return;
    }
    fprintf(stderr, "%s\n", fluvial_last_message());
    MPI_Finalize();
    exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
    int rank, nprocs, level;
    float sum;
    MPI_Op op;
    fluvial_file* file;
    fluvial_object_io io;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);

    must(fluvial_open(MPI_COMM_WORLD, argv[1], MPI_INFO_NULL, &file));
    must(fluvial_object_io_init(&io, file, argv[2]));
    MPI_Offset dim = io.count[0];
    io.start[0] = dim * rank / nprocs;
    io.count[0] = dim * (rank + 1) / nprocs - io.start[0];
    io.mode = FLUVIAL_COLLECTIVE;
    io.block = 0;
    MPI_Op_create(compute, 1, &op);
    must(fluvial_object_get_vara_float(&io, op, &sum));
    // ... what the program does meanwhile ...
    must(fluvial_wait(&io));

    if (rank == 0) {
        printf("sum of %s: %.0f, by %d ranks\n", argv[2], sum, nprocs);
    }
    MPI_Op_free(&op);
    must(fluvial_close(file));
    MPI_Finalize();
}
