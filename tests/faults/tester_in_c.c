/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 dies; the others only test a stream, with nothing under way, and write what they were told
 * into the folder that is the argument. The last rank is the consumer. */
#define _POSIX_C_SOURCE 200809L
#include <MPIStream.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void add(void* in, void* inout, int* len, MPI_Datatype* type) {
    (void)type;
    *(int*)inout = *len == 0 ? 0 : *(int*)inout + *(int*)in;
}

int main(int argc, char** argv) {
    int rank, ranks, flag, code = MPI_SUCCESS;
    double begin;
    const struct timespec pause = {0, 1000000};
    char name[4096];
    FILE* told;
    MPIStream_Channel channel;
    MPIStream stream;
    MPIStream_Operation operation = {add, MPI_SUM};
    if (argc != 2) {
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPIStream_CreateChannel(rank < ranks - 1, rank == ranks - 1, MPI_COMM_WORLD, &channel);
    MPIStream_Attach(MPI_INT, MPI_INT, MPI_INT, &operation, &stream, &channel);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep(1);
        kill(getpid(), SIGKILL);
    }
    begin = MPI_Wtime();
    while (code == MPI_SUCCESS && MPI_Wtime() - begin < 30) {
        nanosleep(&pause, NULL);
        code = MPIStream_Test(&flag, &stream);
    }
    snprintf(name, sizeof name, "%s/rank-%d", argv[1], rank);
    told = fopen(name, "w");
    fprintf(told, "%s", code == MPI_SUCCESS ? "nothing" : MPIStream_LastError());
    fclose(told);
    _exit(0); /* MPI_Finalize would wait for the dead */
}
