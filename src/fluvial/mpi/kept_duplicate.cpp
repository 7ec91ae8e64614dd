// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/kept_duplicate.hpp"

#include <atomic>
#include <mutex>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {
namespace {

using Kept = std::shared_ptr<Comm>;

/// While MPI ends it frees what is left itself.
std::atomic<bool> ending{false};

/// MPI calls it on all ranks of a communicator that is freed.
int free_kept(MPI_Comm, int, void* value, void*) {
    auto* const kept = static_cast<Kept*>(value);
    try {
        if (ending || (*kept)->serial()) {
            (*kept)->abandon();
        } else {
            (*kept)->close();
        }
    } catch (...) {
        (*kept)->abandon();
    }
    delete kept;
    return MPI_SUCCESS;
}

int key() {
    static std::once_flag once;
    static int made = MPI_KEYVAL_INVALID;
    std::call_once(once, [] {
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_kept, &made, nullptr),
              "create an attribute");
        before_finalize([] { ending = true; });
    });
    return made;
}

}  // namespace

std::shared_ptr<Comm> kept_duplicate(long handle) {
    if (!running()) {
        return std::make_shared<Comm>(Comm::from_fortran(handle));  // says what is wrong
    }
    MPI_Comm user = MPI_Comm_f2c(static_cast<MPI_Fint>(to_int(handle, "a Fortran handle")));
    void* value = nullptr;
    int found = 0;
    if (user != MPI_COMM_NULL) {
        check(MPI_Comm_get_attr(user, key(), static_cast<void*>(&value), &found),
              "look at an attribute");
    }
    if (found != 0) {
        const Kept& kept = *static_cast<Kept*>(value);
        if (kept->serial()) {
            throw InvalidArgument(Problem{"an exchange on this communicator has failed on its way",
                                          "a further one", "",
                                          "Give a duplicate of it, comm.Dup(), on all ranks"});
        }
        return kept;
    }
    auto kept = std::make_unique<Kept>(std::make_shared<Comm>(Comm::from_fortran(handle)));
    const Kept out = *kept;
    check(MPI_Comm_set_attr(user, key(), kept.get()), "set an attribute");
    static_cast<void>(kept.release());
    return out;
}

void lose(Comm& kept) {
    kept.abandon();
    kept = Comm();
}

}  // namespace fluvial::mpi
