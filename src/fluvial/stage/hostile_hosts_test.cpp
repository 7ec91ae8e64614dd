// SPDX-License-Identifier: Apache-2.0
/// What is said between hosts (remote_messages.hpp), changed at random by one that has the key: the
/// other side takes it or refuses it, and goes on.
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <poll.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/event.hpp"
#include "fluvial/move/connection_fixture.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/mutation_fixture.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/stream_fixture.hpp"
#include "fluvial/stage/writer_peer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const TestSeed seed(2718);

template <class... Values>
Bytes message(const Values&... values) {
    ByteWriter out;
    (out.put(values), ...);
    return out.take();
}

bool is_of(const Bytes& message, FromWriter kind, std::size_t bytes) {
    return message.size() >= bytes && static_cast<FromWriter>(message[0]) == kind;
}

/// A writer's host that serves readers elsewhere, in the process of the test.
struct ServingHost {
    ServingHost() { contact.endpoints = service.endpoints(); }
    move::SecureConnection connect() const {
        return connect_to(contact, 10, contact.endpoints.at(0), Deadline(10));
    }
    /// Of one reader rank.
    move::SecureConnection attach() const {
        move::SecureConnection connection = connect();
        connection.post(encode(AttachMessage{{}, 10, "test", "node17"}));
        const Bytes reply = first_reply(connection, Deadline(10));
        REQUIRE(is_of(reply, FromWriter::Attached, 1));
        return connection;
    }
    /// Writes a step, where the queue has room.
    void write() {
        if (const auto admission = admit(stream.control, steps)) {
            finish_writing(stream.control, admission->slot, 0, {}, false);
            ++steps;
            bell.ring();
        }
    }
    bool nobody_attached() const { return stream.control.header().remote_readers == 0; }

    std::uint64_t steps = 0;
    Stream stream{WriterOptions{.queue_steps = 4}};
    Arena arena{"test", 1 << 20, 1 << 20};
    Contact contact = new_contact();
    host::Event bell;
    RemoteService service{contact.key,
                          {&stream.control, nullptr, {}, false},
                          {{"127.0.0.1"}, {"127.0.0.1"}},
                          {},
                          bell};
};

/// Until the other side hangs up, or says nothing for a while.
void hear_out(move::SecureConnection& connection) {
    try {
        const Deadline deadline(0.005);
        while (!deadline.passed()) {
            connection.flush();
            connection.take();
        }
    } catch (const Error&) {  // it has hung up
    }
}

/// A writer's host that answers the first request for a step with `said`.
struct SayingHost {
    explicit SayingHost(const Bytes& said)
        : listener({"127.0.0.1"}, 0, 0), thread([this, said] { answer(said); }) {
        contact.endpoints = {{"127.0.0.1", listener.port()}};
    }
    ~SayingHost() {
        stop = true;
        thread.join();
    }
    SayingHost(const SayingHost&) = delete;
    SayingHost& operator=(const SayingHost&) = delete;

    void answer(const Bytes& said) {
        std::optional<move::SecureConnection> connection;
        while (!stop) {
            try {
                if (auto socket = connection ? std::nullopt : listener.accept()) {
                    connection.emplace(std::move(*socket), contact.key,
                                       move::SecureConnection::Side::Server);
                }
                if (!connection) {
                    continue;
                }
                connection->flush();
                const auto heard = connection->take();
                if (heard && static_cast<FromReader>(heard->at(0)) == FromReader::Attach) {
                    connection->post(encode(AttachedMessage{}));
                    connection->post(message(FromWriter::Joined));
                } else if (heard && static_cast<FromReader>(heard->at(0)) == FromReader::Next) {
                    connection->post(said);
                }
            } catch (const Error&) {  // the reader is gone
                return;
            }
        }
    }

    Contact contact = new_contact();
    move::TcpListener listener;
    std::atomic<bool> stop = false;
    std::thread thread;
};

}  // namespace

TEST_CASE("a host of the writer always learns how another one has ended") {
    enum class Word : std::uint8_t { Beat, Failed, Closed };  // as writer_peer.cpp has them
    std::mt19937 random(seed);
    ByteWriter failed;
    failed.put(Word::Failed);
    failed.put_string("PeerLost");
    failed.put_string("a rank is gone");
    for (const Bytes& said :
         {message(Word::Beat), failed.take(), message(Word::Closed, std::uint64_t{0})}) {
        for (int round = 0; round < 300; ++round) {
            const Stream stream{WriterOptions{}};
            move::Pair pair;
            move::shake_hands(pair.client, pair.server);
            WriterPeer here(std::move(pair.server), "node17", stream.control);
            {
                move::SecureConnection there(std::move(pair.client));
                there.post(mutated(said, random));
                wait_until([&] { return there.flush(); }, Deadline(10), "it is not sent");
            }
            wait_until(
                [&] {
                    here.advance();
                    return here.over();
                },
                Deadline(10), "the end of a connection is not noticed");
            const ControlHeader& header = stream.control.header();
            CHECK((header.failure.set != 0 ||
                   header.closed_elsewhere != std::numeric_limits<std::uint64_t>::max()));
        }
    }
}

TEST_CASE("a reader elsewhere says what it likes, and the writer's host goes on") {
    std::mt19937 random(seed);
    ServingHost host;
    ByteWriter wants;
    wants.put(FromReader::Wants);
    put(wants, {{1, {{0, 2}, {3, 4}}, {{1, 0}, {2, 4}}}});
    const std::vector<Bytes> of_visitors = {encode(AttachMessage{{}, 3, "test", "node17"}),
                                            encode(DataMessage{{}, "", 3}),
                                            encode(GoesOnMessage{})};
    const std::vector<Bytes> of_readers = {
        message(FromReader::Next),   message(FromReader::Done, std::uint64_t{0}),
        message(FromReader::Status), message(FromReader::Beat),
        message(FromReader::Leave),  wants.take()};
    for (int round = 0; round < 200; ++round) {
        const bool attached = round % 2 == 0;
        move::SecureConnection reader = attached ? host.attach() : host.connect();
        const auto& all = attached ? of_readers : of_visitors;
        if (round % 10 == 0) {
            host.write();
        }
        try {
            for (unsigned count = 1 + random() % 4; count > 0; --count) {
                const Bytes& one = all[random() % all.size()];
                reader.post(random() % 3 == 0 ? one : mutated(one, random));
            }
        } catch (const PeerLost&) {  // it has hung up already
        }
        hear_out(reader);
    }
    wait_until([&] { return host.nobody_attached(); }, Deadline(10), "a place was not given back");
    CHECK(host.stream.control.header().failure.set == 0);
    move::SecureConnection reader = host.attach();
    CHECK(is_of(move::next_message(reader, reader), FromWriter::Joined, 1));
    host.write();
    reader.post(message(FromReader::Next));
    CHECK(is_of(move::next_message(reader, reader), FromWriter::Step, 9));
}

TEST_CASE("many readers that connect at once are all let in") {
    ServingHost host;
    constexpr std::size_t readers = 128;
    std::vector<move::SecureConnection> all;
    for (std::size_t i = 0; i < readers; ++i) {
        all.emplace_back(move::TcpSocket::begin(host.contact.endpoints.at(0)), host.contact.key,
                         move::SecureConnection::Side::Client);
    }
    std::size_t in = 0, sent_away = 0;
    const Deadline deadline(20);
    while (!all.empty() && !deadline.passed()) {
        std::erase_if(all, [&](move::SecureConnection& one) {
            try {
                one.flush();
                const bool was_proven = one.proven();
                const bool answered = one.take().has_value();
                if (one.proven() && !was_proven) {
                    one.post(encode(AttachMessage{{}, 10, "test", "node17"}));
                    one.flush();
                }
                in += answered ? 1 : 0;
                return answered;
            } catch (const PeerLost&) {
                ++sent_away;
                return true;
            }
        });
    }
    CHECK(in + sent_away == readers);
    CHECK(sent_away < readers / 4);  // none but where this process had no core for long
}

TEST_CASE("connections that prove nothing keep a reader waiting for a moment only") {
    ServingHost host;
    std::vector<move::TcpSocket> silent;
    for (int i = 0; i < 100; ++i) {
        silent.push_back(move::TcpSocket::begin(host.contact.endpoints.at(0)));
    }
    const std::int64_t begin_ns = now_ns();
    CHECK_NOTHROW(host.attach());
    CHECK(now_ns() - begin_ns < 5'000'000'000);  // at 2 s each 32 it would be 6 s
}

TEST_CASE("a connection that had to make room for others is tried again") {
    const Contact contact = new_contact();
    const move::TcpListener listener({"127.0.0.1"}, 0, 0);
    std::atomic<bool> over = false;
    std::thread host([&] {
        int sent_away = 0;
        std::optional<move::SecureConnection> connection;
        while (!over) {
            if (auto socket = connection ? std::nullopt : listener.accept()) {
                if (sent_away++ == 3) {
                    connection.emplace(std::move(*socket), contact.key,
                                       move::SecureConnection::Side::Server);
                }
            }
            if (connection) {
                connection->flush();
                connection->take();
            }
        }
    });
    std::optional<move::SecureConnection> let_in;
    const move::Endpoint there{"127.0.0.1", listener.port()};
    CHECK_NOTHROW(let_in.emplace(connect_to(contact, 10, there, Deadline(10))));
    over = true;
    host.join();
}

TEST_CASE("what a host said before its connection broke is heard, also by one that speaks") {
    const Contact contact = new_contact();
    const move::TcpListener listener({"127.0.0.1"}, 0, 0);
    Contact found = contact;
    found.endpoints = {{"127.0.0.1", listener.port()}};
    std::atomic<bool> joined = false;
    std::thread host([&] {
        std::optional<move::TcpSocket> socket;
        wait_until(
            [&] {
                socket = listener.accept();
                return socket.has_value();
            },
            Deadline(10), "no reader came");
        move::SecureConnection connection(std::move(*socket), contact.key,
                                          move::SecureConnection::Side::Server);
        move::next_message(connection, connection);
        connection.post(encode(AttachedMessage{}));
        connection.post(message(FromWriter::Joined));
        connection.flush();
        wait_until([&] { return joined.load(); }, Deadline(10), "the reader does not come");
        pollfd beat{connection.descriptor(), POLLIN, 0};
        ::poll(&beat, 1, 10'000);
        connection.post(message(FromWriter::End, Bearings{}));
        connection.flush();  // and what the reader has said is never read: the connection is reset
    });
    const auto seat =
        std::make_shared<RemoteSeat>("test", found, AttachRequest{}, ReaderOptions{}, Deadline(10));
    seat->wait_for_others();
    joined = true;
    host.join();
    CHECK_THROWS_AS(seat->status(), PeerLost);
    HandleLock handle;
    HandleLock::Call call(handle, "a test");
    CHECK_FALSE(seat->next(call, Deadline(10)).has_value());
}

TEST_CASE("a host of the writer says what it likes, and a reader has a step, an end or an error") {
    std::mt19937 random(seed);
    const std::size_t end_bytes = message(FromWriter::End, Bearings{}).size();
    const std::vector<Bytes> all = {message(FromWriter::Joined),
                                    message(FromWriter::End, Bearings{}),
                                    message(FromWriter::Beat, Bearings{}),
                                    encode_failed("PeerLost", "a rank is gone"),
                                    encode(StreamStatus{}),
                                    encode_carries_data("eth1")};
    int ends = 0, errors = 0;
    for (int round = 0; round < 400; ++round) {
        const Bytes said = mutated(all[static_cast<std::size_t>(round) % all.size()], random);
        CAPTURE(round);
        const SayingHost host(said);
        ReaderOptions options;
        options.step_timeout_s = 0.02;
        const auto seat = std::make_shared<RemoteSeat>("test", host.contact, AttachRequest{},
                                                       options, Deadline(10));
        seat->wait_for_others();
        HandleLock handle;
        HandleLock::Call call(handle, "a test");
        try {
            const bool ended = !seat->next(call, Deadline(options.step_timeout_s)).has_value();
            CHECK(ended);
            CHECK(is_of(said, FromWriter::End, end_bytes));
            ++ends;
        } catch (const Error&) {
            ++errors;
        }
    }
    CHECK(ends > 10);
    CHECK(errors > 200);
}
