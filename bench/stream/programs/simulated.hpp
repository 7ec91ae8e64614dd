// SPDX-License-Identifier: Apache-2.0
/// Included before everything else under SMPI (SimGrid 3.32).
///
/// Ranks take turns there, in one process that they share with all their global variables, and time
/// passes only in calls that the simulator knows: giving the core away, or a pause in a loop, takes
/// as long as a look. Some calls are missing. Matched probes are not needed: a rank has one thread,
/// which receives at once what it has found.
///
/// MPI_Comm_split_type sends a message from each rank to each, and MPI_Ibarrier goes through rank
/// 0, which tests it once for each rank at every look. Neither is part of what is timed.
#pragma once

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <mpi.h>
#include <sched.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <unistd.h>

#include "simulated_collectives.hpp"

/// Every 8 us: it is what a simulation spends its time on. Past SMPI, which asks the kernel for the
/// time that a rank has computed at each of its calls.
inline int simulated_look() {
    sg_actor_sleep_for(8e-6);
    return 0;
}
inline int simulated_clock(timespec* time) {
    const double now = simgrid_get_clock();
    time->tv_sec = static_cast<time_t>(now);
    time->tv_nsec = static_cast<long>((now - static_cast<double>(time->tv_sec)) * 1e9);
    return 0;
}

struct Found {
    int source, tag;
    MPI_Comm comm;
};
/// Of all ranks: none gives way to another between finding a message and receiving it.
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

/// By the number in the node's name.
inline int simulated_split_by_node(MPI_Comm comm, int key, MPI_Comm* part) {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return MPI_Comm_split(comm, std::atoi(name + std::strcspn(name, "0123456789")), key, part);
}
/// Through when it returns: here ranks meet when nothing is left to be answered.
inline int simulated_ibarrier(MPI_Comm comm, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return simulated_barrier(comm);
}

#undef clock_gettime
#define clock_gettime(clock, time) simulated_clock(time)
#undef getpid                                       // the process is real, and alive
#define sched_getaffinity(pid, size, cores) (-1)    // they are as many as
#define sysconf(name) static_cast<long>(SIMULATED)  // the cores of a node
#define sched_yield() simulated_look()
#define __builtin_ia32_pause() simulated_look()
#define MPI_Comm_split_type(comm, type, key, info, part) simulated_split_by_node(comm, key, part)
#define MPI_Ibarrier(comm, request) simulated_ibarrier(comm, request)
#define MPI_Improbe(source, tag, comm, flag, message, status) \
    simulated_improbe(source, tag, comm, flag, status)
#define MPI_Mprobe(source, tag, comm, message, status) simulated_mprobe(source, tag, comm, status)
#define MPI_Get_elements_x(status, type, count) simulated_elements(status, type, count)
#define MPI_Imrecv(buffer, count, type, message, request) \
    simulated_imrecv(buffer, count, type, request)
