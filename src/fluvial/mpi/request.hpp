// SPDX-License-Identifier: Apache-2.0
/// A non-blocking MPI operation in flight, together with the memory that it reads or writes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/describe/coordinates.hpp"
#include "fluvial/mpi/pending.hpp"

namespace fluvial::mpi {

/// What an operation does, for error messages: "VERB", or "VERB rank RANK (tag TAG)". Kept in
/// parts, because many small messages would notice the time that it takes to write it out.
struct Purpose {
    const char* verb = "";  ///< lives for ever
    int rank = -1;
    int tag = -1;

    std::string to_string() const;
};

/// Move-only. Owns its buffer (`take` hands it out after completion) or pins the caller's. Test or
/// wait before it goes out of scope: a Request destroyed in flight warns on stderr, and its memory
/// then lives until the process ends, because MPI may still write into it.
///
///     Request outgoing = comm.isend(std::move(bytes), 0, 7);
///     outgoing.wait(Deadline(10.0));
///     bytes = outgoing.take();
class Request {
  public:
    /// Nothing in flight: complete, with an empty buffer.
    Request() = default;
    /// What the buffer is for. Receive: for a message at least one byte shorter than the buffer,
    /// which is then cut to the message's length; a message that fills it was too long, a
    /// SystemError.
    enum class Role { Receive, Other };
    /// Posts an operation: `start` gets the buffer and the handle to fill, and returns MPI's error
    /// code. `purpose` completes error messages ("MPI could not …"). `pinned` owns further memory
    /// that must outlive the operation. Local.
    static Request post(Role role, const Purpose& purpose, std::vector<std::byte> buffer,
                        std::shared_ptr<const void> pinned,
                        const std::function<int(std::span<std::byte>, MPI_Request*)>& start);

    /// What was started elsewhere. Looks at it at once: most short messages have left by then, and
    /// nothing needs to be kept. Local.
    static Request adopt(MPI_Request request, const Purpose& purpose,
                         std::shared_ptr<const void> pinned);

    bool in_flight() const;
    /// True once complete. Local, does not block. Throws CallFailed when MPI fails, which has not
    /// always ended the operation.
    bool test();
    /// Blocking, by wait_until() without limit. After an exception the operation may still be in
    /// flight, and can be waited for again.
    void wait();
    /// The same, and TimedOut at the deadline.
    void wait(const Deadline& deadline);
    /// The buffer: what arrived (cut to the length received), or what was sent. Local. Throws
    /// InvalidArgument while in flight.
    std::vector<std::byte> take();
    /// Gives up on an operation that will not be completed: its memory is kept until the process
    /// ends. Local, silent.
    void abandon();
    /// None when complete. Not for Role::Receive, whose length would be lost. Until the next call.
    std::optional<Pending> pending();

  private:
    struct State;
    struct Drop {
        void operator()(State* state) const;
    };

    std::unique_ptr<State, Drop> state_;
};

}  // namespace fluvial::mpi
