/* SPDX-License-Identifier: Apache-2.0 */
/* Below MPI_THREAD_MULTIPLE a user's MPI_Op is called by the thread that calls Fluvial, and by no
   other. A program of its own, because a job has one thread level. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fluvial/c/fluvial.h"

static pthread_t caller;
static int elsewhere = 0;

static void larger(void* in, void* inout, int* length, MPI_Datatype* type) {
    const double* a = (const double*)in;
    double* b = (double*)inout;
    int i;
    if (!pthread_equal(pthread_self(), caller) || *type != MPI_DOUBLE) {
        elsewhere = 1;
    }
    for (i = 0; i < *length; ++i) {
        b[i] = a[i] > b[i] ? a[i] : b[i];
    }
}

/* A classic netCDF file with one variable x(n) of doubles, all 0 but for one. */
static int write_file(const char* path, int n, int where) {
    static const unsigned char head[] = {'C', 'D', 'F', 1, 0, 0, 0, 0, 0,   0, 0, 10,
                                         0,   0,   0,   1, 0, 0, 0, 1, 'n', 0, 0, 0};
    static const unsigned char between[] = {0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, 11, 0, 0, 0,
                                            1, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 0,  1, 0, 0,
                                            0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, 0,  0, 6};
    static const unsigned char one[8] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0}, zero[8] = {0};
    const int sizes[3] = {n, 8 * n, sizeof head + 4 + sizeof between + 8};
    FILE* out = fopen(path, "wb");
    int i, number, good = out != NULL;
    for (number = 0; good && number < 3; ++number) {
        unsigned char bytes[4];
        for (i = 0; i < 4; ++i) {
            bytes[i] = (unsigned char)(sizes[number] >> (24 - 8 * i));
        }
        if (number == 0) {
            good = fwrite(head, sizeof head, 1, out) == 1;
        }
        good = good && fwrite(bytes, 4, 1, out) == 1;
        if (number == 0) {
            good = good && fwrite(between, sizeof between, 1, out) == 1;
        }
    }
    for (i = 0; good && i < n; ++i) {
        good = fwrite(i == where ? one : zero, 8, 1, out) == 1;
    }
    return out != NULL && fclose(out) == 0 && good;
}

static int check(int code, const char* call) {
    if (code != FLUVIAL_OK) {
        fprintf(stderr, "%s: %s: %s\n", call, fluvial_strerror(code), fluvial_last_message());
    }
    return code == FLUVIAL_OK;
}

int main(int argc, char** argv) {
    const int n = 5000000; /* 40 MB: several calls of fluvial_test */
    int level = 0, rank = 0, ranks = 1, good = 1, block, done, calls;
    char path[256];
    fluvial_file* file = NULL;
    MPI_Op op;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    caller = pthread_self();
    snprintf(path, sizeof path, "%s/fluvial_thread_level_%d_%s.nc",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", ranks, "x");
    good = rank != 0 || write_file(path, n, n / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Op_create(larger, 1, &op);
    good = good && check(fluvial_open(MPI_COMM_WORLD, path, MPI_INFO_NULL, &file), "open");
    for (block = 0; good && block < 2; ++block) {
        fluvial_object_io io;
        double most = -1;
        good = check(fluvial_object_io_init(&io, file, "x"), "init");
        io.block = block;
        io.shuffle = FLUVIAL_COMMON;
        good = good && check(fluvial_object_get_vara_double(&io, op, &most), "get");
        for (done = calls = 0; good && !block && !done; ++calls) {
            good = check(fluvial_test(&io, &done), "test");
        }
        good = good && check(fluvial_wait(&io), "wait") && most == 1 && (block || calls > 1);
    }
    good = check(fluvial_close(file), "close") && good;
    MPI_Op_free(&op);
    if (level != MPI_THREAD_FUNNELED || elsewhere) {
        fprintf(stderr, "level %d, the operation ran on another thread: %d\n", level, elsewhere);
        good = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        remove(path);
    }
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
