// SPDX-License-Identifier: Apache-2.0
/// Many messages on their way to one rank, out of memory that is used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include <mpi.h>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/pending.hpp"

namespace fluvial::mpi {

/// Messages arrive in the order in which they were posted, and are completed in that order too:
/// looking costs one test, however many are under way. Everything is local. One thread at a time,
/// several in turn (with MPI_THREAD_MULTIPLE). Cheaper than Comm::isend, which allocates.
class SendQueue {
  public:
    /// When a message counts as complete: once MPI needs its memory no more, or not before a
    /// receive of the other side has been matched with it. The latter holds a sender back that is
    /// faster than its receiver, however short the messages are.
    enum class Complete { Sent, Matched };
    /// Throws InvalidArgument as Comm::send does.
    SendQueue(const Comm& comm, int destination, int tag, Complete complete = Complete::Sent);
    SendQueue(const SendQueue&) = delete;
    SendQueue& operator=(const SendQueue&) = delete;
    /// What is still under way is abandoned, in silence, and its owners live until the process
    /// ends.
    ~SendQueue();

    /// `owner` keeps `bytes`, of any length, until completed() covers this message; they
    /// stay unchanged until then. Throws SystemError.
    void post(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
    std::uint64_t posted() const { return posted_; }
    /// How many messages, from the first on, are complete by now.
    std::uint64_t completed();
    /// The oldest one that is under way; none where none is. Until the next call.
    std::optional<Pending> pending();

  private:
    struct Posted {
        MPI_Request request;
        std::shared_ptr<const void> owner;
    };

    MPI_Comm comm_;
    int destination_;
    int tag_;
    Complete complete_;
    std::uint64_t posted_ = 0;
    std::deque<Posted> under_way_;
};

}  // namespace fluvial::mpi
