/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stream "numbers", says each step, and how it ended: "end", or the code and message. */
#include <fluvial/c/series.h>
#include <stdio.h>

int main(int argc, char** argv) {
    fluvial_reader* reader = NULL;
    int more = 0, code;
    double sum;
    MPI_Init(&argc, &argv);
    code = fluvial_reader_open(MPI_COMM_WORLD, "numbers", MPI_INFO_NULL, &reader);
    while (code == FLUVIAL_OK) {
        code = fluvial_reader_next(reader, &more);
        if (code != FLUVIAL_OK || !more) {
            break;
        }
        code = fluvial_reader_reduce(reader, "x", "sum", 1, &sum);
        if (code == FLUVIAL_OK) {
            printf("step %.0f\n", sum);
            fflush(stdout);
        }
    }
    if (code == FLUVIAL_OK) {
        printf("end\n");
    } else {
        printf("%d: %s\n", code, fluvial_last_message());
    }
    code = fluvial_reader_close(reader);
    printf("closed: %d\n", code);
    MPI_Finalize();
    return 0;
}
