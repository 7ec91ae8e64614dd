/* SPDX-License-Identifier: Apache-2.0 */
/* What is called after MPI_Finalize is a code, and does not end the process. A program of its own,
   because MPI ends once. */
#include <stdio.h>
#include <stdlib.h>

#include "fluvial/c/MPIStream.h"
#include "fluvial/c/fluvial.h"
#include "fluvial/c/series.h"

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

/* A file that all ranks write, and its first step, which ends or stays open. */
static fluvial_writer* begin_series(const char* path, int ends) {
    fluvial_writer* writer = NULL;
    expect(fluvial_writer_open(MPI_COMM_WORLD, path, MPI_INFO_NULL, &writer), FLUVIAL_OK, "open");
    expect(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, NULL), FLUVIAL_OK, "begin");
    if (ends) {
        expect(fluvial_writer_end_step(writer), FLUVIAL_OK, "end");
    }
    return writer;
}

int main(int argc, char** argv) {
    int rank = 0, ranks = 1, value = 1, flag = 0;
    double sum = 0;
    char path[256];
    fluvial_file* file = NULL;
    fluvial_object_io io, under_way;
    fluvial_writer *ended = NULL, *open = NULL;
    char series[2][300];
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
    snprintf(series[0], sizeof series[0], "%s.ended.nc", path);
    snprintf(series[1], sizeof series[1], "%s.open.nc", path);
    ended = begin_series(series[0], 1);
    open = begin_series(series[1], 0);
    MPI_Finalize();
    expect(fluvial_writer_close(ended), FLUVIAL_EINVAL, "close a series");
    expect(fluvial_writer_end_step(open), FLUVIAL_EINVAL, "end a step");
    expect(fluvial_writer_abandon_step(open), FLUVIAL_EINVAL, "abandon a step");
    expect(fluvial_writer_abort(open), FLUVIAL_EINVAL, "abort a series");
    if (rank == 0) {
        remove(series[0]);
        remove(series[1]);
    }
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
