// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/receive_into.hpp"

#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

Request receive_into(const Comm& comm, std::span<std::byte> memory,
                     std::shared_ptr<const void> owner, int source, int tag) {
    comm.check_message(source, tag);
    const Purpose purpose{"receive a message from", source, tag};
    const Payload payload(static_cast<Index>(memory.size()));
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(memory.data(), payload.count, payload.type.handle(), source, tag, comm.handle(),
                    &request),
          purpose.to_string());
    return Request::adopt(request, purpose, std::move(owner));
}

}  // namespace fluvial::mpi
