// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/environment.hpp"

#include <algorithm>
#include <exception>

#include <mpi.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"

namespace fluvial::mpi {

namespace {

constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                          MPI_THREAD_MULTIPLE};

}  // namespace

Environment::Environment(int* argc, char*** argv, ThreadLevel wanted)
    : uncaught_(std::uncaught_exceptions()) {
    if (finalized()) {
        throw SystemError(Problem{"MPI cannot be initialised again",
                                  "MPI_Finalize was called already",
                                  "one Environment in the life of a process",
                                  "Let the Environment live in main() until the end"});
    }
    if (initialized()) return;
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(argc, argv, levels[static_cast<int>(wanted)], &provided), "initialise");
    ours_ = true;
}

Environment::~Environment() {
    if (ours_ && !finalized() && std::uncaught_exceptions() == uncaught_) MPI_Finalize();
}

bool initialized() {
    int flag = 0;
    MPI_Initialized(&flag);
    return flag != 0;
}

bool finalized() {
    int flag = 0;
    MPI_Finalized(&flag);
    return flag != 0;
}

ThreadLevel thread_level() {
    if (!running()) {
        throw SystemError(Problem{"MPI's thread level is unknown", "MPI is not running",
                                  "between MPI_Init and MPI_Finalize", ""});
    }
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&provided), "tell its thread level");
    return static_cast<ThreadLevel>(std::find(std::begin(levels), std::end(levels), provided) -
                                    levels);
}

std::string library_version() {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    check(MPI_Get_library_version(version, &length), "tell its version");
    std::string line(version, static_cast<std::size_t>(length));
    // Open MPI: "Open MPI v4.1.4, package: …"; MPICH: "MPICH Version:      5.0.0\nMPICH Release
    // date: …".
    line.resize(std::min({line.find('\n'), line.find(','), line.size()}));
    line.resize(line.find_last_not_of(std::string_view("\0 \t", 3)) + 1);
    const auto twice = [](char a, char b) { return a == b && (a == ' ' || a == '\t'); };
    std::replace(line.begin(), line.end(), '\t', ' ');
    line.erase(std::unique(line.begin(), line.end(), twice), line.end());
    return line;
}

}  // namespace fluvial::mpi
