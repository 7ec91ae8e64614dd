// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/environment.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <mpi.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"

namespace fluvial::mpi {

namespace {

constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                          MPI_THREAD_MULTIPLE};

std::atomic<bool> ends{false};

/// MPI_Finalize deletes what is attached to MPI_COMM_SELF before it does anything else.
int call_attached(MPI_Comm, int, void* attached, void*) {
    const std::unique_ptr<std::function<void()>> work(
        static_cast<std::function<void()>*>(attached));
    try {
        (*work)();
    } catch (...) {
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

}  // namespace

Environment::Environment(int* argc, char*** argv, ThreadLevel wanted)
    : uncaught_(std::uncaught_exceptions()) {
    if (finalized()) {
        throw SystemError(Problem{"MPI cannot be initialised again",
                                  "MPI_Finalize was called already",
                                  "one Environment in the life of a process",
                                  "Let the Environment live in main() until the end"});
    }
    if (initialized()) {
        return;
    }
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(argc, argv, levels[static_cast<int>(wanted)], &provided), "initialise");
    ours_ = true;
}

Environment::~Environment() {
    if (made_.inherited() || !ours_ || finalized()) {
        return;
    }
    if (std::uncaught_exceptions() == uncaught_) {
        MPI_Finalize();
    }
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

void check_running() {
    if (!running()) {
        throw InvalidArgument(Problem{
            "MPI is not running", finalized() ? "MPI_Finalize was called" : "no MPI_Init yet",
            "a call between MPI_Init and MPI_Finalize",
            "Initialise MPI first (Python: import mpi4py.MPI; C++: fluvial::mpi::Environment), "
            "or pass no communicator to run serially"});
    }
}

bool ending() noexcept {
    return ends.load(std::memory_order_relaxed);
}

void notice_ending() {
    static std::once_flag once;
    std::call_once(once, [] { before_finalize([] { ends = true; }); });
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

void before_finalize(std::function<void()> work) {
    if (!running()) {
        throw SystemError(Problem{"nothing can be done before MPI ends", "MPI is not running",
                                  "between MPI_Init and MPI_Finalize", ""});
    }
    int key = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_attached, &key, nullptr),
          "create an attribute");
    auto attached = std::make_unique<std::function<void()>>(std::move(work));
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, attached.get()), "set an attribute");
    static_cast<void>(attached.release());
    check(MPI_Comm_free_keyval(&key), "let go an attribute");  // it lives on with its value
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
