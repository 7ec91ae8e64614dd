// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/sparse_exchange.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

namespace {

/// A send that is complete when the receiver has taken the message.
Request synchronous_send(const Comm& comm, Addressed message, int tag) {
    const auto start = [&](std::span<std::byte> buffer, MPI_Request* request) {
        const Payload payload(static_cast<Index>(buffer.size()));
        return MPI_Issend(buffer.data(), payload.count, payload.type.handle(), message.rank, tag,
                          comm.handle(), request);
    };
    return Request::post(Request::Role::Other, {"send a message to", message.rank, tag},
                         std::move(message.bytes), nullptr, start);
}

}  // namespace

std::vector<Addressed> sparse_exchange(const Comm& comm, std::vector<Addressed> messages, int tag) {
    if (comm.serial()) {
        if (!messages.empty() && (messages.size() > 1 || messages.front().rank != 0)) {
            throw InvalidArgument(Problem{"a serial communicator has one rank",
                                          text("rank ", messages.back().rank), "rank 0, once", ""});
        }
        return messages;
    }
    for (const Addressed& message : messages) {
        comm.check_message(message.rank, tag);
    }
    std::vector<Request> sends;
    for (Addressed& message : messages) {
        sends.push_back(synchronous_send(comm, std::move(message), tag));
    }
    std::vector<Incoming> arriving;
    std::size_t sent = 0;  // of `sends`, from the first on
    Request all_sent;
    bool in_barrier = false;
    const auto done = [&] {
        while (auto incoming = comm.try_recv(tag)) {
            arriving.push_back(std::move(*incoming));
        }
        while (sent < sends.size() && sends[sent].test()) {
            ++sent;
        }
        if (sent == sends.size() && !in_barrier) {
            all_sent = comm.ibarrier();
            in_barrier = true;
        }
        return in_barrier && all_sent.test();
    };
    try {
        wait_until(done, "MPI did not deliver messages");
    } catch (...) {
        for (Request& send : sends) {
            send.abandon();
        }
        for (Incoming& incoming : arriving) {
            incoming.message.abandon();
        }
        all_sent.abandon();
        throw;
    }
    std::vector<Addressed> received;
    for (Incoming& incoming : arriving) {
        incoming.message.wait();
        received.push_back({incoming.source, incoming.message.take()});
    }
    std::ranges::sort(received, {}, &Addressed::rank);
    return received;
}

}  // namespace fluvial::mpi
