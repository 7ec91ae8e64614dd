// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/waiting_message.hpp"

#include <mpi.h>

#include "fluvial/mpi/check.hpp"

namespace fluvial::mpi {

std::optional<WaitingMessage> waiting_message(const Comm& comm) {
    MPI_Status status;
    int found = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.handle(), &found, &status),
          "look for a message");
    return found == 0 ? std::nullopt
                      : std::optional(WaitingMessage{status.MPI_SOURCE, status.MPI_TAG});
}

}  // namespace fluvial::mpi
