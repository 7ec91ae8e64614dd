/* SPDX-License-Identifier: Apache-2.0 */
/* Streams by messages in a program that MPI allows a single thread: no other one may appear, and
   elements leave when their producer calls. A program of its own, because a job has one level. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "MPIStream.h"

static void add(void* in, void* inout, int* len, MPI_Datatype* type) {
    (void)type;
    if (*len == 0) {
        *(long*)inout = 0;
    } else {
        *(long*)inout += *(long*)in;
    }
}

static int threads(void) {
    char line[256];
    int count = 0;
    FILE* status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "Threads:", 8) == 0) {
            count = atoi(line + 8);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return count;
}

static int fails(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", call, MPIStream_LastError());
    }
    return code != MPI_SUCCESS;
}

int main(int argc, char** argv) {
    int level = 0, rank = 0, ranks = 1, before, during = 0, bad = 0;
    long i, sum = -1;
    MPIStream_ChannelOptions options;
    MPIStream_Channel channel;
    MPIStream_Operation operation;
    MPIStream stream;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    before = threads();
    MPIStream_ChannelOptions_init(&options);
    options.shared_memory = 0;
    options.timeout_s = 30;
    bad |=
        fails(MPIStream_CreateChannelWith(&options, rank > 0, rank == 0, MPI_COMM_WORLD, &channel),
              "create");
    operation.intermediate_function = &add;
    operation.terminal_function = MPI_SUM;
    bad |= fails(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &channel),
                 "attach");
    for (i = 0; !bad && rank > 0 && i < 100000; ++i) {
        bad |= fails(MPIStream_Send(&i, &stream), "send");
    }
    during = threads();
    if (!bad && rank > 0) {
        bad |= fails(MPIStream_Terminate(&stream), "terminate");
    }
    if (!bad && rank == 0) {
        bad |= fails(MPIStream_Result(&sum, NULL, &stream), "result");
        bad |= sum != (ranks - 1) * (100000L * 99999 / 2);
    }
    bad |= fails(MPIStream_FreeChannel(&channel), "free");
    if (level < MPI_THREAD_MULTIPLE && during != before) {
        fprintf(stderr, "rank %d: %d threads before, %d later\n", rank, before, during);
        bad = 1;
    }
    MPI_Finalize();
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
