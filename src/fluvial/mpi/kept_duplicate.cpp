// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/kept_duplicate.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/kept.hpp"

namespace fluvial::mpi {
namespace {

struct KeptDuplicate final : Kept {
    explicit KeptDuplicate(Comm made) : comm(std::move(made)) {}
    void end(bool mpi_ends) noexcept override { end_with_user(comm, mpi_ends); }
    Comm comm;
};

}  // namespace

void end_with_user(Comm& comm, bool mpi_ends) noexcept {
    try {
        if (!mpi_ends && !comm.serial()) {
            return comm.close();
        }
    } catch (...) {  // it is left to the end of MPI
    }
    comm.abandon();
}

std::shared_ptr<Comm> kept_duplicate(long handle) {
    const auto kept =
        std::static_pointer_cast<KeptDuplicate>(kept_with(handle, KeptKind::Duplicate, [&] {
            return std::make_shared<KeptDuplicate>(Comm::from_fortran(handle));
        }));
    if (kept->comm.serial()) {
        throw InvalidArgument(Problem{"an exchange on this communicator has failed on its way",
                                      "a further one", "",
                                      "Give a duplicate of it, comm.Dup(), on all ranks"});
    }
    return {kept, &kept->comm};
}

void lose(Comm& kept) {
    kept.abandon();
    kept = Comm();
}

}  // namespace fluvial::mpi
