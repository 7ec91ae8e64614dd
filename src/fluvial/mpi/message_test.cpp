// SPDX-License-Identifier: Apache-2.0
// Messages and the Requests behind them. Each rank sends to the next one, the last to rank 0; a
// single rank to itself.
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

std::vector<std::byte> message(int from, std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from));
    }
    return bytes;
}

struct Ring {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    int next = (comm.rank() + 1) % comm.size();
    int previous = (comm.rank() + comm.size() - 1) % comm.size();
    ~Ring() { comm.close(); }

    /// A receive of up to `bytes_max` bytes from the previous rank, posted before anything came.
    Request post_receive(int bytes_max, int tag) const {
        const auto start = [&](std::span<std::byte> buffer, MPI_Request* request) {
            return MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, previous,
                             tag, comm.handle(), request);
        };
        return Request::post(Request::Role::Receive, {"receive a message from", previous, tag},
                             std::vector<std::byte>(static_cast<std::size_t>(bytes_max) + 1),
                             nullptr, start);
    }
};

}  // namespace

TEST_CASE("messages of any length arrive, in order for each tag") {
    Ring ring;
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{3} << 20}) {
        Request first = ring.comm.isend(message(ring.comm.rank(), length), ring.next, 1);
        Request second = ring.comm.isend(message(ring.comm.rank() + 50, length), ring.next, 1);
        Request other =
            ring.comm.isend(message(ring.comm.rank() + 100, length), ring.next, tag_max);
        CHECK(ring.comm.recv(ring.previous, tag_max) == message(ring.previous + 100, length));
        CHECK(ring.comm.recv(ring.previous, 1) == message(ring.previous, length));
        CHECK(ring.comm.recv(ring.previous, 1) == message(ring.previous + 50, length));
        for (Request* request : {&first, &second, &other}) {
            request->wait(Deadline(30));
        }
    }
}

TEST_CASE("try_recv gives what has arrived, from any rank, in order for each of them") {
    Ring ring;
    const int ranks = ring.comm.size();
    CHECK_FALSE(ring.comm.try_recv(5).has_value());
    ring.comm.barrier();
    std::vector<Request> sent;
    for (int to = 0; to < ranks; ++to) {
        for (const std::size_t length : {std::size_t{0}, std::size_t{3} << 20, std::size_t{9}}) {
            sent.push_back(ring.comm.isend(message(ring.comm.rank(), length), to, 5));
        }
        sent.push_back(ring.comm.isend(message(0, 1), to, 6));  // no business of tag 5
    }
    std::vector<std::vector<std::size_t>> lengths(static_cast<std::size_t>(ranks));
    for (int left = 3 * ranks; left > 0; --left) {
        std::optional<Incoming> came;
        const auto arrived = [&] { return (came = ring.comm.try_recv(5)).has_value(); };
        wait_until(arrived, Deadline(30), "receive");
        came->message.wait(Deadline(30));
        const auto bytes = came->message.take();
        CHECK(bytes == message(came->source, bytes.size()));
        lengths[static_cast<std::size_t>(came->source)].push_back(bytes.size());
    }
    for (const auto& of_rank : lengths) {
        CHECK(of_rank == std::vector<std::size_t>{0, std::size_t{3} << 20, 9});
    }
    std::optional<Incoming> chosen;
    const auto arrived = [&] { return (chosen = ring.comm.try_recv(ring.next, 6)).has_value(); };
    wait_until(arrived, Deadline(30), "receive");
    CHECK(chosen->source == ring.next);
    chosen->message.wait(Deadline(30));
    CHECK(chosen->message.take() == message(0, 1));
    CHECK_FALSE(ring.comm.try_recv(ring.next, 6).has_value());
    CHECK_FALSE(ring.comm.try_recv(5).has_value());
    for (int from = 0; from < ranks; ++from) {
        if (from != ring.next) {
            CHECK(ring.comm.recv(from, 6) == message(0, 1));
        }
    }
    for (Request& request : sent) {
        request.wait(Deadline(30));
    }
    CHECK_THROWS_AS(Comm().try_recv(5), InvalidArgument);
}

TEST_CASE("send blocks until a receiver takes the message") {
    Ring ring;
    Request incoming = ring.post_receive(1 << 20, 3);
    const auto mine = message(ring.comm.rank(), 1 << 20);
    ring.comm.send(mine, ring.next, 3);
    incoming.wait();
    CHECK(incoming.take() == message(ring.previous, 1 << 20));
}

TEST_CASE("a request owns its buffer and cuts it to what came") {
    Ring ring;
    Request incoming = ring.post_receive(1000, 0);
    CHECK(incoming.in_flight());
    CHECK_THROWS_WITH_AS(incoming.take(), doctest::Contains("the buffer still belongs to MPI"),
                         InvalidArgument);
    CHECK_FALSE(incoming.test());
    Request moved = std::move(incoming);
    CHECK_FALSE(incoming.in_flight());
    ring.comm.barrier();

    Request outgoing = ring.comm.isend(message(ring.comm.rank(), 10), ring.next, 0);
    moved.wait(Deadline(30));
    CHECK_FALSE(moved.in_flight());
    CHECK(moved.test());
    CHECK(moved.take() == message(ring.previous, 10));
    outgoing.wait();
    CHECK(outgoing.take() == message(ring.comm.rank(), 10));
}

TEST_CASE("a pinned owner lives as long as the request") {
    Ring ring;
    auto owner = std::make_shared<std::vector<std::byte>>(message(ring.comm.rank(), 2 << 20));
    const std::weak_ptr<std::vector<std::byte>> watched = owner;
    Request outgoing = ring.comm.isend(std::span<const std::byte>(*owner), owner, ring.next, 2);
    owner.reset();
    CHECK_FALSE(watched.expired());
    CHECK(ring.comm.recv(ring.previous, 2) == message(ring.previous, 2 << 20));
    outgoing.wait();
    CHECK(watched.expired());
    CHECK_THROWS_AS(ring.comm.isend(std::span<const std::byte>(), nullptr, ring.next, 2),
                    InvalidArgument);
}

TEST_CASE("waiting ends at the deadline and can be taken up again") {
    Ring ring;
    Request incoming = ring.post_receive(8, 4);
    CHECK_THROWS_WITH_AS(
        incoming.wait(Deadline(0.02)),
        doctest::Contains(
            text("MPI did not receive a message from rank ", ring.previous, " (tag 4)").c_str()),
        TimedOut);
    CHECK(incoming.in_flight());
    ring.comm.barrier();
    ring.comm.send(message(1, 8), ring.next, 4);
    incoming.wait(Deadline(30));
    CHECK(incoming.take() == message(1, 8));
}

TEST_CASE("an interrupt breaks off a wait with a deadline") {
    Ring ring;
    set_interrupt_check([] { throw Error("Ctrl-C"); });
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_WITH_AS(ring.comm.recv(ring.previous, 7, Deadline(60)), "Ctrl-C", Error);
    set_interrupt_check({});
    CHECK(now_ns() - begin_ns < 30'000'000'000);
    ring.comm.barrier();
    Request outgoing = ring.comm.isend(message(4, 9), ring.next, 7);
    CHECK(ring.comm.recv(ring.previous, 7) == message(4, 9));
    outgoing.wait();
}

TEST_CASE("receiving ends at the deadline without losing the message") {
    Ring ring;
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_AS(ring.comm.recv(ring.previous, 6, Deadline(0.05)), TimedOut);
    CHECK(now_ns() - begin_ns >= 50'000'000);
    ring.comm.barrier();
    Request outgoing = ring.comm.isend(message(3, 1 << 20), ring.next, 6);
    CHECK(ring.comm.recv(ring.previous, 6, Deadline(30)) == message(3, 1 << 20));
    outgoing.wait();
}

TEST_CASE(
    "a message that is longer than the posted buffer is an error, and the communicator goes on") {
    Ring ring;
    for (const std::size_t length : {5, 6, 64}) {
        Request incoming = ring.post_receive(4, 5);
        Request outgoing = ring.comm.isend(message(0, length), ring.next, 5);
        CHECK_THROWS_WITH_AS(incoming.wait(Deadline(30)),
                             doctest::Contains("MPI could not receive a message from rank"),
                             SystemError);
        CHECK_FALSE(incoming.in_flight());
        outgoing.wait(Deadline(30));
    }
    Request incoming = ring.post_receive(4, 5);
    Request outgoing = ring.comm.isend(message(0, 4), ring.next, 5);
    incoming.wait(Deadline(30));
    CHECK(incoming.take() == message(0, 4));
    outgoing.wait();
    CHECK(ring.comm.sum(1) == ring.comm.size());
}

TEST_CASE("ranks and tags out of range are refused before anything is sent") {
    Ring ring;
    const int size = ring.comm.size();
    CHECK_THROWS_WITH_AS(
        ring.comm.send({}, size, 0),
        text("destination is not a rank: got ", size, "; allowed: 0 to ", size - 1).c_str(),
        InvalidArgument);
    CHECK_THROWS_AS(ring.comm.recv(-1, 0), InvalidArgument);
    CHECK_THROWS_AS(ring.comm.isend({}, 0, -1), InvalidArgument);
    CHECK_THROWS_WITH_AS(ring.comm.recv(0, 1 << 20),
                         "tag is out of range: got 1048576; allowed: 0 to 16383", InvalidArgument);
}
