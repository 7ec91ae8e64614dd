// SPDX-License-Identifier: Apache-2.0
/// Messages between the ranks of a pool.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::flow {

/// Order is kept between each two ranks and tag. Everything is local. One thread at a time.
class Mailbox {
  public:
    /// `comm` outlives it.
    explicit Mailbox(const mpi::Comm& comm) : comm_(&comm) {}

    struct Message {
        int from = 0;
        Bytes bytes;
    };

    /// Leaves at once.
    void post(int to, int tag, Bytes bytes);
    /// The next message with the tag that is complete.
    std::optional<Message> poll(int tag);
    /// MPI has everything that was posted.
    bool sent();
    /// Gives up on everything: somebody is lost.
    void abandon();

  private:
    struct Arriving {
        int tag = 0;
        mpi::Incoming incoming;
    };

    const mpi::Comm* comm_;
    std::list<mpi::Request> posted_;
    std::list<Arriving> arriving_;  ///< in the order in which they were matched
};

}  // namespace fluvial::flow
