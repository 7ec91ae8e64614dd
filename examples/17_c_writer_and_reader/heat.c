/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation in C: each rank has some rows of a plate, and hands over every step. "./heat
   plate.h5" writes the same into a file. */
#include <fluvial/c/series.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 120, columns = 64, steps = 10 };

static void check(int code) {
    if (code != FLUVIAL_OK) {
        fprintf(stderr, "heat: %s\n", fluvial_last_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char** argv) {
    int rank, ranks, i;
    MPI_Offset offset[2] = {0}, count[2] = {0, columns}, j;
    const MPI_Offset shape[2] = {rows, columns};
    fluvial_writer* plate;
    double* t;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    offset[0] = (MPI_Offset)rows * rank / ranks;
    count[0] = (MPI_Offset)rows * (rank + 1) / ranks - offset[0];
    t = malloc((size_t)(count[0] * columns) * sizeof *t);

    check(fluvial_writer_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "plate", MPI_INFO_NULL, &plate));
    check(fluvial_writer_put_att_text(plate, FLUVIAL_DATASET, "meshes/T", "units", "K"));
    for (i = 0; i < steps; ++i) {
        for (j = 0; j < count[0] * columns; ++j) {
            t[j] = 300.0 + i + (double)(offset[0] + j / columns);
        }
        check(fluvial_writer_begin_step(plate, 0.5 * i, FLUVIAL_NEXT, NULL));
        check(fluvial_writer_put(plate, "meshes/T", MPI_DOUBLE, 2, offset, count, shape, t));
        check(fluvial_writer_end_step(plate));
    }
    check(fluvial_writer_close(plate));
    free(t);
    MPI_Finalize();
    return 0;
}
