// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks of a Comm.
#include <limits>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

namespace {

/// The communicator, once the arguments are known to be good.
MPI_Comm checked(const Comm& comm, int other, int tag, const char* what) {
    const MPI_Comm handle = comm.handle();
    if (comm.serial()) {
        throw InvalidArgument(Problem{"a serial communicator has no rank to exchange messages with",
                                      "", "",
                                      "Pass an MPI communicator, or treat size() == 1 apart"});
    }
    if (other < 0 || other >= comm.size()) {
        throw InvalidArgument(
            Problem{text(what, " is not a rank"), text(other), text("0 to ", comm.size() - 1), ""});
    }
    if (tag < 0 || tag > tag_tree_merge) {
        throw InvalidArgument(
            Problem{"tag is out of range", text(tag), text("0 to ", tag_max), ""});
    }
    return handle;
}

/// Shorter messages need no type of their own, and many small ones would notice the time it takes.
constexpr std::size_t plain_bytes = std::size_t{1} << 30;

Purpose outgoing(int destination, int tag) {
    return {"send a message to", destination, tag};
}

int start_send(MPI_Comm comm, std::span<const std::byte> bytes, int destination, int tag,
               MPI_Request* request) {
    if (bytes.size() < plain_bytes) {
        return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, destination, tag,
                         comm, request);
    }
    const Payload payload(static_cast<Index>(bytes.size()));
    return MPI_Isend(bytes.data(), payload.count, payload.type.handle(), destination, tag, comm,
                     request);
}

Purpose incoming(int source, int tag) {
    return {"receive a message from", source, tag};
}

/// A message that was matched by a probe, into a buffer of its length and the spare byte of
/// Role::Receive.
Request receive_matched(MPI_Message message, MPI_Status& status, const Purpose& purpose) {
    MPI_Count length = 0;
    check(MPI_Get_elements_x(&status, MPI_BYTE, &length), "tell the length of a message");
    const auto start = [&message](std::span<std::byte> buffer, MPI_Request* request) {
        const Payload payload(static_cast<Index>(buffer.size() - 1));
        return MPI_Imrecv(buffer.data(), payload.count, payload.type.handle(), &message, request);
    };
    return Request::post(Request::Role::Receive, purpose,
                         std::vector<std::byte>(static_cast<std::size_t>(length) + 1), nullptr,
                         start);
}

}  // namespace

void Comm::check_message(int other, int tag) const {
    checked(*this, other, tag, "the other end");
}

void Comm::send(std::span<const std::byte> bytes, int destination, int tag) const {
    checked(*this, destination, tag, "destination");
    Request request = isend(std::vector(bytes.begin(), bytes.end()), destination, tag);
    try {
        request.wait();
    } catch (...) {
        request.abandon();
        throw;
    }
}

std::vector<std::byte> Comm::recv(int source, int tag) const {
    return recv(source, tag, Deadline(std::numeric_limits<double>::infinity()));
}

std::vector<std::byte> Comm::recv(int source, int tag, const Deadline& deadline) const {
    const MPI_Comm comm = checked(*this, source, tag, "source");
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const auto arrived = [&] {
        int found = 0;
        check(MPI_Improbe(source, tag, comm, &found, &message, &status), "look for a message");
        return found != 0;
    };
    if (!arrived()) {
        wait_until(arrived, deadline, text("MPI did not ", incoming(source, tag).to_string()));
    }
    Request request = receive_matched(message, status, incoming(source, tag));
    try {
        request.wait(deadline);
    } catch (...) {
        request.abandon();  // broken off within a message: no call will wait for the rest
        throw;
    }
    return request.take();
}

std::optional<Incoming> Comm::match(int source, int tag) const {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int found = 0;
    check(MPI_Improbe(source, tag, handle(), &found, &message, &status), "look for a message");
    if (found == 0) {
        return std::nullopt;
    }
    const int from = status.MPI_SOURCE;
    return Incoming{from, receive_matched(message, status, incoming(from, tag))};
}

std::optional<Incoming> Comm::try_recv(int tag) const {
    checked(*this, rank(), tag, "source");
    return match(MPI_ANY_SOURCE, tag);
}

std::optional<Incoming> Comm::try_recv(int source, int tag) const {
    checked(*this, source, tag, "source");
    return match(source, tag);
}

Request Comm::isend(std::vector<std::byte> bytes, int destination, int tag) const {
    const MPI_Comm comm = checked(*this, destination, tag, "destination");
    const auto start = [&](std::span<std::byte> buffer, MPI_Request* request) {
        return start_send(comm, buffer, destination, tag, request);
    };
    return Request::post(Request::Role::Other, outgoing(destination, tag), std::move(bytes),
                         nullptr, start);
}

Request Comm::isend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                    int destination, int tag) const {
    const MPI_Comm comm = checked(*this, destination, tag, "destination");
    if (!owner) {
        throw InvalidArgument(Problem{"isend from memory without an owner", "",
                                      "a shared_ptr that keeps it alive",
                                      "Pass the owner, or the bytes by value"});
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const Purpose purpose = outgoing(destination, tag);
    const int error = start_send(comm, bytes, destination, tag, &request);
    if (error != MPI_SUCCESS) {
        check(error, purpose.to_string());
    }
    return Request::adopt(request, purpose, std::move(owner));
}

}  // namespace fluvial::mpi
