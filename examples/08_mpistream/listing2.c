// SPDX-License-Identifier: Apache-2.0
// Listing 2 of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131): particles whose
// energy is high are written out, and from then on always, wherever they go. The consumers collect
// them and append them to one file.
//   mpiexec -n 6 build/listing2 particles.bin
//
// Other than on paper: the first particle goes to place 0 of the buffer and not to place -1; a full
// buffer is 8 * BUFFER_SIZE doubles, not 8 * counter / BUFFER_SIZE; *len == 0 asks for a new or a
// finished buffer; and a tag that is on stays on, for which sending must not depend on the energy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "MPIStream.h"

enum { BUFFER_SIZE = 100, PARTICLES = 4000, CYCLES = 20 };

typedef struct {
    double position[3], velocity[3], id, cycle;
} Particle;  // 8 doubles

static MPI_File particfile;
static long long counter = 0, flushed = 0;

// Intermediate Operation
static void PARTICLE_IO(void* in, void* inout, int* len, MPI_Datatype* datatype) {
    double* buffer = (double*)inout;
    (void)datatype;
    if (*len != 8) {
        return;  // 0: nothing has to be done to an empty buffer
    }
    memcpy(buffer + 8 * (counter % BUFFER_SIZE), in, 8 * sizeof(double));  // Buffering Data
    counter++;
    if (counter % BUFFER_SIZE == 0) {  // Flush out data
        MPI_File_write_shared(particfile, buffer, 8 * BUFFER_SIZE, MPI_DOUBLE, MPI_STATUS_IGNORE);
        flushed = counter;
    }
}

// Terminal Operation: called on each consumer once with *len == 0, when its last element was
// processed. There is nothing to combine between consumers.
static void PARTICLE_IO_Term(void* in, void* inout, int* len, MPI_Datatype* datatype) {
    (void)in;
    (void)datatype;
    if (*len == 0 && counter > flushed) {
        MPI_File_write_shared(particfile, inout, 8 * (int)(counter - flushed), MPI_DOUBLE,
                              MPI_STATUS_IGNORE);
    }
}

static double random_number(unsigned* state) {  // -1 to 1, the same everywhere
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1;
}

static void updateParticle(Particle* particle, int cycle, unsigned* state) {
    for (int axis = 0; axis < 3; ++axis) {
        particle->velocity[axis] = 0.9 * particle->velocity[axis] + 0.5 * random_number(state);
        particle->position[axis] += particle->velocity[axis];
    }
    particle->cycle = cycle;
}

static int isHighEnergyParticle(const Particle* particle) {
    double energy = 0;
    for (int axis = 0; axis < 3; ++axis) {
        energy += particle->velocity[axis] * particle->velocity[axis] / 2;
    }
    return energy > 1.5;
}

/// Returns how many particles it has streamed out.
static long long simulate(int rank, MPIStream* stream) {
    Particle* partic_list = calloc(PARTICLES, sizeof(Particle));
    char* outputTag = calloc(PARTICLES, 1);
    unsigned state = 1000u + (unsigned)rank;
    long long sent = 0;
    for (int cycle = 0; cycle < CYCLES; ++cycle) {
        for (int i = 0; i < PARTICLES; i++) {  // KCode.ParticlesMover()
            partic_list[i].id = rank * PARTICLES + i;
            updateParticle(&partic_list[i], cycle, &state);
            if (isHighEnergyParticle(&partic_list[i])) {
                outputTag[i] = 1;
            }
            if (outputTag[i]) {
                MPIStream_Send(&partic_list[i], stream);
                ++sent;
            }
        }
    }
    MPIStream_Terminate(stream);
    free(partic_list);
    free(outputTag);
    return sent;
}

int main(int argc, char** argv) {
    int rank, nprocs;
    long long sent = 0, all_sent = 0, written = 0;
    const char* path = argc > 1 ? argv[1] : "particles.bin";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    const int consumers = nprocs > 2 ? 2 : 1;
    const int is_consumer = rank >= nprocs - consumers;
    const int is_producer = rank < nprocs - consumers || nprocs == 1;

    MPI_Comm writers;
    MPI_Comm_split(MPI_COMM_WORLD, is_consumer ? 0 : MPI_UNDEFINED, rank, &writers);
    if (is_consumer) {
        MPI_File_open(writers, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &particfile);
        MPI_File_set_size(particfile, 0);
    }

    MPI_Datatype particle, buffer;
    MPI_Type_contiguous(8, MPI_DOUBLE, &particle);
    MPI_Type_contiguous(8 * BUFFER_SIZE, MPI_DOUBLE, &buffer);
    MPI_Type_commit(&particle);
    MPI_Type_commit(&buffer);
    MPIStream_Channel channel;
    MPIStream stream;
    MPIStream_Operation operation;
    MPIStream_CreateChannel(is_producer, is_consumer, MPI_COMM_WORLD, &channel);
    operation.intermediate_function = &PARTICLE_IO;
    MPIStream_Terminal(&PARTICLE_IO_Term, &operation.terminal_function, &channel);
    if (MPIStream_Attach(particle, buffer, MPI_DOUBLE, &operation, &stream, &channel)) {
        fprintf(stderr, "%s\n", MPIStream_LastError());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (is_producer) {
        sent = simulate(rank, &stream);
    }
    if (is_consumer) {
        MPIStream_Operate(&stream);
    }
    MPIStream_FreeChannel(&channel);

    if (is_consumer) {
        MPI_Offset bytes;
        MPI_File_get_size(particfile, &bytes);
        written = bytes / (MPI_Offset)sizeof(Particle);
        MPI_File_close(&particfile);
        MPI_Comm_free(&writers);
    }
    MPI_Reduce(&sent, &all_sent, 1, MPI_LONG_LONG, MPI_SUM, nprocs - 1, MPI_COMM_WORLD);
    if (rank == nprocs - 1) {
        printf("%lld particles were streamed out, %lld are in %s\n", all_sent, written, path);
    }
    MPI_Type_free(&particle);
    MPI_Type_free(&buffer);
    MPI_Finalize();
    return 0;
}
