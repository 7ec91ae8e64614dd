// SPDX-License-Identifier: Apache-2.0
// Listing 4 of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131): while a code runs
// whose particles move between its ranks, a consumer watches how evenly they are spread, and raises
// an alert.
//   mpiexec -n 5 build/listing4
//
// Other than on paper: smallest and largest number belong to a cycle, where the listing keeps those
// of the whole run (a rank that was full once and another that was empty once would be a gap for
// ever); the largest begins with what is less than every number, which DBL_MIN is not; and ranks
// that are ahead do not disturb the cycles before.
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "MPIStream.h"

enum { CYCLES = 60, PARTICLES = 1000000 };

typedef struct {
    double cycle, particles;
} Report;

typedef struct {
    double min, max, reports;
} Spread;

static int producers = 0;
static int alerts = 0;

static void AlertGap(int cycle, const Spread* spread) {
    if (alerts++ == 0) {
        printf("alert in cycle %d: %.0f to %.0f particles a rank\n", cycle, spread->min,
               spread->max);
    }
}

// Intermediate Operation
static void ProcessImbalance(void* in, void* inout, int* len, MPI_Datatype* datatype) {
    const double gap_threshold = 1.0E6;
    Spread* spreads = (Spread*)inout;  // one of each cycle
    (void)datatype;
    if (*len == 0) {  // initialize the results
        for (int cycle = 0; cycle < CYCLES; ++cycle) {
            spreads[cycle].min = DBL_MAX;
            spreads[cycle].max = -DBL_MAX;
            spreads[cycle].reports = 0;
        }
        return;
    }
    const Report* report = (const Report*)in;
    Spread* spread = &spreads[(int)report->cycle];
    if (spread->min > report->particles) {
        spread->min = report->particles;
    }
    if (spread->max < report->particles) {
        spread->max = report->particles;
    }
    spread->reports += 1;
    if (spread->reports == producers && spread->max - spread->min > gap_threshold) {
        AlertGap((int)report->cycle, spread);
    }
}

/// The particles of this code drift towards its first rank, a hundredth of each rank's in a cycle.
static void moveParticles(double* particles, MPI_Comm code) {
    int rank, size;
    double leaving = 0.01 * *particles, coming = 0;
    MPI_Comm_rank(code, &rank);
    MPI_Comm_size(code, &size);
    if (rank == 0) {
        leaving = 0;
    }
    MPI_Sendrecv(&leaving, 1, MPI_DOUBLE, rank > 0 ? rank - 1 : MPI_PROC_NULL, 0, &coming, 1,
                 MPI_DOUBLE, rank < size - 1 ? rank + 1 : MPI_PROC_NULL, 0, code,
                 MPI_STATUS_IGNORE);
    *particles += coming - leaving;
}

int main(int argc, char** argv) {
    int rank, nprocs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    const int is_data_consumer = rank == nprocs - 1;
    const int is_data_producer = !is_data_consumer;
    producers = nprocs - 1;
    MPI_Comm code;
    MPI_Comm_split(MPI_COMM_WORLD, is_data_consumer, rank, &code);

    MPI_Datatype report, spreads;
    MPI_Type_contiguous(2, MPI_DOUBLE, &report);
    MPI_Type_contiguous(3 * CYCLES, MPI_DOUBLE, &spreads);
    MPI_Type_commit(&report);
    MPI_Type_commit(&spreads);
    MPIStream_Channel channel;
    MPIStream stream0;
    MPIStream_Operation operation;
    MPIStream_CreateChannel(is_data_producer, is_data_consumer, MPI_COMM_WORLD, &channel);
    operation.intermediate_function = &ProcessImbalance;
    operation.terminal_function = MPI_OP_NULL;  // one consumer: nothing to combine
    if (MPIStream_Attach(report, spreads, MPI_DATATYPE_NULL, &operation, &stream0, &channel)) {
        fprintf(stderr, "%s\n", MPIStream_LastError());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }

    if (is_data_consumer) {  // data consumers keep on processing data
        Spread result[CYCLES];
        MPIStream_Operate(&stream0);
        MPIStream_Result(result, NULL, &stream0);
        printf("%d alerts; at the end %.0f to %.0f particles a rank\n", alerts,
               result[CYCLES - 1].min, result[CYCLES - 1].max);
    }
    if (is_data_producer) {
        Report mine = {0, PARTICLES};
        for (int i = 0; i < CYCLES; i++) {
            moveParticles(&mine.particles, code);  // and whatever else there is to do in a cycle
            mine.cycle = i;
            MPIStream_Send(&mine, &stream0);  // stream out No. of Particles
        }
        MPIStream_Terminate(&stream0);  // data producers signal termination of data
    }
    // Finalization
    MPIStream_FreeChannel(&channel);
    MPI_Type_free(&report);
    MPI_Type_free(&spreads);
    MPI_Comm_free(&code);
    MPI_Finalize();
    return 0;
}
