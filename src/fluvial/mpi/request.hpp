// SPDX-License-Identifier: Apache-2.0
/// A non-blocking MPI operation in flight, together with the memory that it reads or writes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial::mpi {

/// Move-only. Owns its buffer (`take` hands it out after completion) or pins the caller's. Test or wait before it goes
/// out of scope: a Request destroyed in flight warns on stderr, and its memory then lives until the process ends,
/// because MPI may still write into it.
///
///     Request incoming = comm.irecv(1 << 20, 0, 7);
///     incoming.wait(Deadline(10.0));
///     std::vector<std::byte> message = incoming.take();
class Request {
  public:
    /// Nothing in flight: complete, with an empty buffer.
    Request() = default;
    /// Starts in flight; `start` posts the operation on the handle and the buffer and returns MPI's error code. `what`
    /// opens error messages. `pinned` is any owner of further memory that must outlive the operation. Local.
    template <class Start>
    static Request post(std::string what, std::vector<std::byte> buffer,
                        std::shared_ptr<const void> pinned, Start&& start) {
        Request request(std::move(what), std::move(buffer), std::move(pinned));
        request.posted(start(request.handle(), request.buffer()));
        return request;
    }

    bool in_flight() const;
    /// True once complete. Local, does not block. Throws SystemError when the operation failed.
    bool test();
    /// Blocking, without limit.
    void wait();
    /// Blocking until `deadline`: spins briefly, then yields, then sleeps up to 200 us between tests, so that more
    /// ranks than cores do not crawl. Throws TimedOut that names the operation; it then still is in flight and can be
    /// waited for again.
    void wait(const Deadline& deadline);
    /// The buffer: what arrived (cut to the length received), or what was sent. Local. Throws InvalidArgument while in
    /// flight.
    std::vector<std::byte> take();
    /// Gives up on an operation that nobody will complete: its memory is kept until the process ends. Local, silent.
    void abandon();

  private:
    struct State;
    struct Release {
        void operator()(State* state) const;
    };

    Request(std::string what, std::vector<std::byte> buffer, std::shared_ptr<const void> pinned);
    MPI_Request* handle();
    std::vector<std::byte>& buffer();
    void posted(int mpi_error);

    std::unique_ptr<State, Release> state_;
};

}  // namespace fluvial::mpi
