/* SPDX-License-Identifier: Apache-2.0 */
/* An analysis in C of what heat writes: all ranks compute the mean together, and one reads a row.
   "./look plate.h5" reads the same from a file. */
#include <fluvial/c/series.h>
#include <mpi.h>
#include <stdio.h>

enum { columns = 64 };

static void check(int code) {
    if (code != FLUVIAL_OK) {
        fprintf(stderr, "look: %s\n", fluvial_last_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char** argv) {
    const MPI_Offset start[2] = {7, 0}, count[2] = {1, columns};
    fluvial_reader* plate;
    int rank, more;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(fluvial_reader_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "plate", MPI_INFO_NULL, &plate));
    for (check(fluvial_reader_next(plate, &more)); more; check(fluvial_reader_next(plate, &more))) {
        double mean, most, time, row[columns];
        check(fluvial_reader_inq_time(plate, &time));
        check(fluvial_reader_reduce(plate, "meshes/T", "mean", 1, &mean));
        check(fluvial_reader_reduce(plate, "meshes/T", "max", 1, &most));
        check(fluvial_reader_get(plate, "meshes/T", MPI_DOUBLE, start, count, row));
        if (rank == 0) {
            printf("t=%.1f: mean %.1f, max %.0f, row 7 %.0f\n", time, mean, most, row[0]);
        }
    }
    check(fluvial_reader_close(plate));
    MPI_Finalize();
    return 0;
}
