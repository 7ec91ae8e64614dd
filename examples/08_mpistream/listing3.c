// SPDX-License-Identifier: Apache-2.0
// Listing 3 of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131): an iterative solver
// whose ranks go on as soon as the sum of their errors is known to be too large, without waiting
// for the slowest of them.
//   mpiexec -n 5 build/listing3
//
// Other than on paper: the library numbers the rounds, so the function neither compares numbers nor
// moves on to the next step, where early contributions to it would be lost; a round ends when all
// producers have contributed, not MPI_MAX of them; and the result of the last call is the one that
// the loop asks for.
#include <stdio.h>
#include <stdlib.h>

#include "MPIStream.h"

enum { UNKNOWNS = 200 };

typedef struct {
    double contributions, sum;
} Round;

static const double tolerance = 1e-8;
static int producers;
static MPIStream stream;

// Intermediate Operation, on the contributions of one round
static void ThresholdOp(void* in, void* inout, int* len, MPI_Datatype* datatype) {
    Round* round = (Round*)inout;
    (void)datatype;
    if (*len == 0) {
        round->contributions = 0;
        round->sum = 0;
        return;
    }
    round->contributions += 1;
    round->sum += *(const double*)in;  // Capture the sum
    // if the result can be concluded now, return result
    if (round->contributions == producers || round->sum > tolerance) {
        int result = round->sum > tolerance;
        MPIStream_ThresholdColl(NULL, &result, &stream);
    }
}

/// A sweep of Gauss and Seidel over this rank's own system, 2.x[i] - x[i-1] - x[i+1] + d.x[i] = 1.
static double sweep(double* x, double diagonal) {
    double error = 0;
    for (int i = 0; i < UNKNOWNS; ++i) {
        const double left = i > 0 ? x[i - 1] : 0, right = i < UNKNOWNS - 1 ? x[i + 1] : 0;
        const double better = (1 + left + right) / (2 + diagonal);
        error += (better - x[i]) * (better - x[i]);
        x[i] = better;
    }
    return error;
}

int main(int argc, char** argv) {
    int rank, nprocs, iterations = 0, all[2];
    double last = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    const int isStreamer = rank < nprocs - 1;
    producers = nprocs - 1;

    MPI_Datatype round;
    MPI_Type_contiguous(2, MPI_DOUBLE, &round);
    MPI_Type_commit(&round);
    MPIStream_Channel channel;
    MPIStream_Operation operation;
    MPIStream_CreateChannel(isStreamer, !isStreamer, MPI_COMM_WORLD, &channel);
    operation.intermediate_function = &ThresholdOp;
    operation.terminal_function = MPI_OP_NULL;
    if (MPIStream_Attach(MPI_DOUBLE, round, MPI_DOUBLE, &operation, &stream, &channel)) {
        fprintf(stderr, "%s\n", MPIStream_LastError());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (isStreamer) {
        double* x = calloc(UNKNOWNS, sizeof(double));
        double local_result = 0;
        int global_result = 1;
        while (global_result) {  // the error is still too large
            local_result = sweep(x, 0.01 * (1 + rank));
            MPIStream_ThresholdColl(&local_result, &global_result, &stream);
            ++iterations;
        }
        MPIStream_Terminate(&stream);
        last = local_result;
        free(x);
    } else {
        MPIStream_Operate(&stream);
    }
    MPIStream_FreeChannel(&channel);

    all[0] = isStreamer ? iterations : 0;
    all[1] = isStreamer ? -iterations : -(1 << 30);
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&last, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("converged after %d to %d iterations, with an error of %.2e\n", -all[1], all[0],
               sum);
    }
    MPI_Type_free(&round);
    MPI_Finalize();
    return 0;
}
