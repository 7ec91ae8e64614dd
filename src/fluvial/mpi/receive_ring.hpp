// SPDX-License-Identifier: Apache-2.0
/// Receives that stand ready for the messages of many ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <mpi.h>

#include "fluvial/base/page.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/datatype.hpp"
#include "fluvial/mpi/pending.hpp"

namespace fluvial::mpi {

/// `slots` receives of one tag, each into memory of its own of any length, from any rank. MPI
/// matches messages to them in the order in which they were posted, so only the oldest is ever
/// tested: the cost of a look does not grow with the slots or the ranks. Everything is local. One
/// thread at a time.
///
/// Plain receives: persistent ones were no faster with MPICH 5.0 and Open MPI 4.1 from 8 B to 1 MiB
/// (two ranks of a host, eight slots).
class ReceiveRing {
  public:
    /// Posts them all. A message longer than `slot_bytes` is an error of the program: a SystemError
    /// of try_next(), except that Open MPI 4.1 corrupts memory when the message is also past its
    /// eager limit (4 KiB on one host). Throws InvalidArgument as Comm::recv does.
    ReceiveRing(const Comm& comm, int tag, std::size_t slots, std::size_t slot_bytes);
    ReceiveRing(const ReceiveRing&) = delete;
    ReceiveRing& operator=(const ReceiveRing&) = delete;
    /// Cancels what stands ready. A receive that is in the middle of a message is abandoned with
    /// all the memory, in silence.
    ~ReceiveRing();

    struct Received {
        int source = 0;
        std::span<std::byte> bytes;  ///< until give_back(); 64-byte aligned
    };
    /// The next message, if it is complete. Throws SystemError.
    std::optional<Received> try_next();
    /// The slot of the oldest message that try_next gave is ready for a new one.
    void give_back();
    std::uint64_t received() const { return received_; }
    /// The receive that try_next() looks at; none when all slots are taken. Until the next call.
    std::optional<Pending> pending();
    /// The bytes of all slots.
    std::size_t memory() const { return slots_.size() * stride_; }

  private:
    void post(std::uint64_t number);

    MPI_Comm comm_;
    int tag_;
    Payload slot_;
    std::size_t stride_;
    PageMemory memory_;
    std::vector<MPI_Request> slots_;  ///< message number n is in slot n modulo their number
    std::vector<MPI_Status> statuses_;
    std::uint64_t received_ = 0;
    std::uint64_t given_back_ = 0;
};

}  // namespace fluvial::mpi
