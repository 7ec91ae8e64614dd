// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/kept.hpp"

#include <array>
#include <mutex>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {
namespace {

using Pointer = std::shared_ptr<Kept>;

/// MPI calls it on all ranks of a communicator that is freed.
int end_kept(MPI_Comm, int, void* value, void*) {
    const std::unique_ptr<Pointer> kept(static_cast<Pointer*>(value));
    (*kept)->end(ending());
    return MPI_SUCCESS;
}

int key_of(KeptKind kind) {
    static std::once_flag once;
    static std::array<int, 2> made{MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};
    std::call_once(once, [] {
        for (int& key : made) {
            check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_kept, &key, nullptr),
                  "create an attribute");
        }
        notice_ending();
    });
    return made[static_cast<std::size_t>(kind)];
}

}  // namespace

std::shared_ptr<Kept> kept_with(MPI_Comm user, KeptKind kind,
                                const std::function<std::shared_ptr<Kept>()>& make) {
    const int key = key_of(kind);
    void* value = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(user, key, static_cast<void*>(&value), &found), "look at an attribute");
    if (found != 0) {
        return *static_cast<Pointer*>(value);
    }
    auto kept = std::make_unique<Pointer>(make());
    Pointer out = *kept;
    check(MPI_Comm_set_attr(user, key, kept.get()), "set an attribute");
    static_cast<void>(kept.release());
    return out;
}

std::shared_ptr<Kept> kept_with(long handle, KeptKind kind,
                                const std::function<std::shared_ptr<Kept>()>& make) {
    const int fortran = to_int(handle, "a Fortran handle");
    MPI_Comm user = running() ? MPI_Comm_f2c(static_cast<MPI_Fint>(fortran)) : MPI_COMM_NULL;
    if (user == MPI_COMM_NULL) {
        return make();  // says what is wrong
    }
    return kept_with(user, kind, make);
}

}  // namespace fluvial::mpi
