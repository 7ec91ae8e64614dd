// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/receive_into.hpp"

#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

Request receive_into(const Comm& comm, std::span<std::byte> memory,
                     std::shared_ptr<const void> owner, int source, int tag) {
    comm.check_message(source, tag);
    const Purpose purpose{"receive a message from", source, tag};
    const Payload payload(static_cast<Index>(memory.size()));
    // Not looked at yet: MPI might copy a long message at once, and what this rank has to send
    // would begin only then.
    return Request::post(Request::Role::Other, purpose, {}, std::move(owner),
                         [&](std::span<std::byte>, MPI_Request* request) {
                             return MPI_Irecv(memory.data(), payload.count, payload.type.handle(),
                                              source, tag, comm.handle(), request);
                         });
}

}  // namespace fluvial::mpi
