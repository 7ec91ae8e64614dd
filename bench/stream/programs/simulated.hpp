// SPDX-License-Identifier: Apache-2.0
/// Included before everything else under SMPI (SimGrid 3.32).
///
/// Ranks take turns there, and time passes only in calls that the simulator knows: giving the core
/// away, or a pause in a loop, takes as long as a look. Some calls are missing. Matched probes are
/// not needed: a rank has one thread, which receives at once what it has found.
#pragma once

#include <ctime>

#include <mpi.h>
#include <sched.h>

inline int simulated_look() {
    const timespec look{0, 1000};
    return nanosleep(&look, nullptr);
}

struct Found {
    int source, tag;
    MPI_Comm comm;
};
inline Found& simulated_found() {
    static Found found{};
    return found;
}

inline int simulated_improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    const int error = MPI_Iprobe(source, tag, comm, flag, status);
    if (error == MPI_SUCCESS && *flag != 0) {
        simulated_found() = {status->MPI_SOURCE, status->MPI_TAG, comm};
    }
    return error;
}
inline int simulated_mprobe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    const int error = MPI_Probe(source, tag, comm, status);
    simulated_found() = {status->MPI_SOURCE, status->MPI_TAG, comm};
    return error;
}
inline int simulated_imrecv(void* buffer, int count, MPI_Datatype type, MPI_Request* request) {
    const Found found = simulated_found();
    return MPI_Irecv(buffer, count, type, found.source, found.tag, found.comm, request);
}

inline int simulated_elements(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
    int small = 0;
    const int error = MPI_Get_count(status, type, &small);
    *count = small;
    return error;
}

#define sched_yield() simulated_look()
#define __builtin_ia32_pause() simulated_look()
#define MPI_Improbe(source, tag, comm, flag, message, status) \
    simulated_improbe(source, tag, comm, flag, status)
#define MPI_Mprobe(source, tag, comm, message, status) simulated_mprobe(source, tag, comm, status)
#define MPI_Get_elements_x(status, type, count) simulated_elements(status, type, count)
#define MPI_Imrecv(buffer, count, type, message, request) \
    simulated_imrecv(buffer, count, type, request)
