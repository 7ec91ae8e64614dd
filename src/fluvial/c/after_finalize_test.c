/* SPDX-License-Identifier: Apache-2.0 */
/* What is called after MPI_Finalize is a code, and does not end the process. A program of its own,
   because MPI ends once. */
#include <stdio.h>
#include <stdlib.h>

#include "fluvial/c/MPIStream.h"
#include "fluvial/c/fluvial.h"

static int failures = 0;

static void expect(int code, int wanted, const char* call) {
    if (code != wanted) {
        fprintf(stderr, "%s: %d, not %d: %s\n", call, code, wanted, fluvial_last_message());
        ++failures;
    }
}

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
    (void)type;
    *(int*)inout = *length == 0 ? 0 : *(int*)inout + *(int*)in;
}

static int put(FILE* out, unsigned value) {
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 8), (unsigned char)value};
    return fwrite(bytes, sizeof bytes, 1, out) == 1;
}

/* A classic netCDF file with one variable x(n), n = 2, of the doubles 1 and 2. */
static int write_file(const char* path) {
    static const unsigned head[] = {0x43444601, 0,                  /* CDF-1, no records */
                                    10,         1, 1, 'n' << 24, 2, /* one dimension */
                                    0,          0,                  /* no attributes */
                                    11,         1, 1, 'x' << 24, 1, 0, 0, 0, 6, 16, 80};
    static const unsigned data[] = {0x3ff00000, 0, 0x40000000, 0};
    FILE* out = fopen(path, "wb");
    int i, good = out != NULL;
    for (i = 0; good && i < (int)(sizeof head / sizeof *head); ++i) {
        good = put(out, head[i]);
    }
    for (i = 0; good && i < 4; ++i) {
        good = put(out, data[i]);
    }
    return out != NULL && fclose(out) == 0 && good;
}

int main(int argc, char** argv) {
    int rank = 0, ranks = 1, value = 1, flag = 0;
    double sum = 0;
    char path[256];
    fluvial_file* file = NULL;
    fluvial_object_io io, under_way;
    MPIStream_Channel channel = {0};
    MPIStream stream = {0};
    MPIStream_Operation operation = {add, MPI_SUM};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/fluvial_after_finalize_%d.nc",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", ranks);
    failures += rank == 0 && !write_file(path);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(fluvial_open(MPI_COMM_WORLD, path, MPI_INFO_NULL, &file), FLUVIAL_OK, "open");
    expect(fluvial_object_io_init(&io, file, "x"), FLUVIAL_OK, "init");
    io.shuffle = FLUVIAL_COMMON;
    expect(fluvial_object_get_vara_double(&io, MPI_SUM, &sum), FLUVIAL_OK, "get");
    failures += sum != 3;
    under_way = io;
    under_way.block = 0;
    expect(fluvial_object_get_vara_double(&under_way, MPI_SUM, &sum), FLUVIAL_OK, "get");
    expect(MPIStream_CreateChannel(1, 1, MPI_COMM_WORLD, &channel), MPI_SUCCESS, "create");
    expect(MPIStream_Attach(MPI_INT, MPI_INT, MPI_INT, &operation, &stream, &channel), MPI_SUCCESS,
           "attach");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        remove(path);
    }
    MPI_Finalize();
    expect(fluvial_object_get_vara_double(&io, MPI_SUM, &sum), FLUVIAL_EINVAL, "get");
    if (ranks > 1) {
        expect(fluvial_test(&under_way, &flag), FLUVIAL_EINVAL, "test");
        expect(fluvial_wait(&under_way), FLUVIAL_EINVAL, "wait");
    }
    expect(fluvial_close(file), FLUVIAL_EINVAL, "close under way");
    expect(MPIStream_Send(&value, &stream), MPI_ERR_ARG, "send");
    expect(MPIStream_Terminate(&stream), MPI_ERR_ARG, "terminate");
    expect(MPIStream_Operate(&stream), MPI_ERR_ARG, "operate");
    expect(MPIStream_Attach(MPI_INT, MPI_INT, MPI_INT, &operation, &stream, &channel), MPI_ERR_ARG,
           "attach");
    expect(MPIStream_FreeChannel(&channel), MPI_ERR_ARG, "free");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
