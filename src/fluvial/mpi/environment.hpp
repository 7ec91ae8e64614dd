// SPDX-License-Identifier: Apache-2.0
/// MPI's own life: begun and ended for C++ programs, and what a library may ask of it at any time.
#pragma once

#include <functional>
#include <string>

#include "fluvial/base/fork.hpp"

namespace fluvial::mpi {

/// MPI's thread levels, in ascending order.
enum class ThreadLevel { Single, Funneled, Serialized, Multiple };

/// Initialises MPI unless it is initialised, and finalises it if this object initialised it.
///
///     int main(int argc, char** argv) {
///         fluvial::mpi::Environment environment(&argc, &argv);
class Environment {
  public:
    /// Collective over the job, blocking. MPI may give less than `wanted`: ask thread_level().
    /// Throws SystemError when MPI was finalised already, which cannot be undone.
    Environment(int* argc, char*** argv, ThreadLevel wanted = ThreadLevel::Multiple);
    explicit Environment(ThreadLevel wanted = ThreadLevel::Multiple)
        : Environment(nullptr, nullptr, wanted) {}
    /// Collective over the job, blocking. Does nothing while an exception unwinds: the other ranks
    /// may be elsewhere, and a process that ends with an error and without MPI_Finalize makes the
    /// launcher end the job instead of a hang. Nothing, too, in a child by fork.
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    bool ours_ = false;
    int uncaught_ = 0;
    MadeHere made_;
};

/// Local, at any time, also before MPI_Init and after MPI_Finalize.
bool initialized();
bool finalized();
/// MPI calls are possible: initialised and not finalised.
inline bool running() {
    return initialized() && !finalized();
}

/// Throws InvalidArgument unless running(). Local.
void check_running();

/// MPI_Finalize has begun; false before notice_ending() was called. One load, for calls that are
/// too many to ask MPI each time. Local.
bool ending() noexcept;
/// From now on ending() tells. Local. Throws SystemError unless running().
void notice_ending();

/// What MPI gave at initialisation. Local. Throws SystemError unless running().
ThreadLevel thread_level();
/// `work` is called at the beginning of MPI_Finalize, while MPI still works; what it throws is
/// lost. Local. Throws SystemError unless running().
void before_finalize(std::function<void()> work);
/// Vendor and version in one line, e.g. "Open MPI v4.1.4". Local, at any time.
std::string library_version();

}  // namespace fluvial::mpi
