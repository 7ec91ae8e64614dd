/* SPDX-License-Identifier: Apache-2.0 */
/* Streams by messages in a program that MPI allows a single thread: none appears but the one that
   calls no MPI, and elements leave when their producer calls. A program of its own, because a job
   has one level. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "MPIStream.h"

enum { ELEMENTS = 100000, BURST = 1000, PAUSES = 2, PAUSED = 5 };

static long seen = 0; /* elements, by the intermediate function */
static int rank = 0, ranks = 1;

static void add(void* in, void* inout, int* len, MPI_Datatype* type) {
    (void)type;
    if (*len == 0) {
        *(long*)inout = 0;
    } else {
        *(long*)inout += *(long*)in;
        ++seen;
    }
}

/* Of this process, but for the one that calls no MPI. */
static int threads(void) {
    char path[300], name[64];
    int count = 0;
    struct dirent* task;
    DIR* tasks = opendir("/proc/self/task");
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        FILE* file;
        if (task->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        count += fgets(name, sizeof name, file) != NULL && strcmp(name, "fluvial beats\n") != 0;
        fclose(file);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count;
}

static void nap(double s) {
    struct timespec time;
    time.tv_sec = (time_t)s;
    time.tv_nsec = (long)((s - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

/* Seconds, by a clock that all processes of the host share, which MPI_Wtime need not be. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int fails(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", call, MPIStream_LastError());
    }
    return code != MPI_SUCCESS;
}

static int wrong(int is_wrong, const char* what) {
    if (is_wrong) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
    }
    return is_wrong;
}

static int create(int consumes, MPIStream_Channel* channel, MPIStream* stream) {
    MPIStream_ChannelOptions options;
    MPIStream_Operation operation;
    MPIStream_ChannelOptions_init(&options);
    options.shared_memory = 0;
    options.timeout_s = 30;
    operation.intermediate_function = &add;
    operation.terminal_function = MPI_SUM;
    return fails(
               MPIStream_CreateChannelWith(&options, !consumes, consumes, MPI_COMM_WORLD, channel),
               "create") ||
           fails(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, stream, channel),
                 "attach");
}

static int take(long wanted, MPIStream* stream) {
    int bad = 0;
    const double end = MPI_Wtime() + 30;
    while (!bad && seen < wanted) {
        bad = fails(MPIStream_Ioperate(stream), "operate") ||
              wrong(MPI_Wtime() > end, "elements did not come in time");
    }
    return bad;
}

static int all_elements_are_counted(int* during) {
    long i, sum = -1;
    MPIStream_Channel channel;
    MPIStream stream;
    int bad = create(rank == 0, &channel, &stream);
    for (i = 0; !bad && rank > 0 && i < ELEMENTS; ++i) {
        bad = fails(MPIStream_Send(&i, &stream), "send");
    }
    *during = threads();
    if (!bad && rank > 0) {
        bad = fails(MPIStream_Terminate(&stream), "terminate");
    }
    if (!bad && rank == 0) {
        bad = fails(MPIStream_Result(&sum, NULL, &stream), "result") ||
              wrong(sum != (ranks - 1) * ((long)ELEMENTS * (ELEMENTS - 1) / 2), "a wrong sum");
    }
    return bad || fails(MPIStream_FreeChannel(&channel), "free");
}

/* Before their producers' pauses end, during which they call nothing. */
static int elements_before_pauses_leave_at_once(void) {
    double paused[PAUSES], came[PAUSES];
    long i;
    int source;
    MPIStream_Channel channel;
    MPIStream stream;
    int bad = create(rank == 0, &channel, &stream);
    seen = 0;
    for (i = 0; !bad && i < PAUSES; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank > 0) {
            bad = fails(MPIStream_Send(&i, &stream), "send");
            nap(1);
        } else {
            bad = take((i + 1) * (ranks - 1), &stream);
        }
        *(rank > 0 ? &paused[i] : &came[i]) = now();
    }
    if (!bad && rank > 0) {
        MPI_Send(paused, PAUSES, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    for (source = 1; !bad && rank == 0 && source < ranks; ++source) {
        MPI_Recv(paused, PAUSES, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < PAUSES; ++i) {
            bad |= wrong(came[i] >= paused[i], "an element came after its producer's pause");
        }
    }
    return bad || fails(MPIStream_FreeChannel(&channel), "free");
}

/* Though their consumer takes none of them until their producers wait for something else. */
static int elements_after_pauses_leave_while_none_is_taken(void) {
    long i;
    MPIStream_Channel channel;
    MPIStream stream;
    int bad = create(rank == 0, &channel, &stream);
    seen = 0;
    for (i = 0; !bad && rank > 0 && i < PAUSED; ++i) {
        bad = fails(MPIStream_Send(&i, &stream), "send");
        nap(0.02);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!bad && rank > 0) {
        bad = fails(MPIStream_Send(&i, &stream), "send");
        MPI_Recv(&i, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!bad) {
        bad = take((ranks - 1) * (PAUSED + 1), &stream);
        for (i = 1; i < ranks; ++i) {
            MPI_Send(&seen, 1, MPI_LONG, (int)i, 0, MPI_COMM_WORLD);
        }
    }
    return bad || fails(MPIStream_FreeChannel(&channel), "free");
}

/* Producers wait in one channel for the reply to what they have sent into another one. */
static int a_burst_leaves_at_the_next_call(int in_another_channel) {
    long i, sum = -1;
    MPIStream_Channel there, back;
    MPIStream elements, reply;
    int bad = create(rank == 0, &there, &elements) || create(rank > 0, &back, &reply);
    seen = 0;
    for (i = 0; !bad && rank > 0 && i < BURST; ++i) {
        bad = fails(MPIStream_Send(&i, &elements), "send");
    }
    if (!bad && rank > 0 && !in_another_channel) { /* a pause, and one more */
        nap(0.1);
        bad = fails(MPIStream_Send(&i, &elements), "send");
        MPI_Recv(&i, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!bad && rank == 0) {
        bad = take((ranks - 1) * (BURST + (in_another_channel ? 0 : 1)), &elements);
        for (i = 1; i < ranks && !in_another_channel; ++i) {
            MPI_Send(&sum, 1, MPI_LONG, (int)i, 0, MPI_COMM_WORLD);
        }
        sum = 42;
        bad = bad || fails(MPIStream_Send(&sum, &reply), "reply") ||
              fails(MPIStream_Terminate(&reply), "terminate");
    } else if (!bad) {
        bad = fails(MPIStream_Result(&sum, NULL, &reply), "the reply") ||
              wrong(sum != 42, "a wrong reply");
    }
    return bad || fails(MPIStream_FreeChannel(&there), "free") ||
           fails(MPIStream_FreeChannel(&back), "free");
}

int main(int argc, char** argv) {
    int level = 0, before, during = 0, bad;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    before = threads();
    bad = all_elements_are_counted(&during) || elements_before_pauses_leave_at_once() ||
          elements_after_pauses_leave_while_none_is_taken() || a_burst_leaves_at_the_next_call(0) ||
          a_burst_leaves_at_the_next_call(1);
    if (level < MPI_THREAD_MULTIPLE && during != before) {
        fprintf(stderr, "rank %d: %d threads before, %d later\n", rank, before, during);
        bad = 1;
    }
    if (bad) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); /* the others may wait for this rank */
    }
    MPI_Finalize();
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
