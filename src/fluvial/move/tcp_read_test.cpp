// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tcp_read.hpp"

#include <limits>
#include <optional>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/connection_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;
using Side = SecureConnection::Side;

namespace {

const TestSeed seed(4242);

/// A reader, and a thread that serves it.
struct Served {
    explicit Served(bool encrypt) : memory(3, region_bytes) {
        Pair pair;
        shake_hands(pair.client, pair.server);
        reader = std::make_unique<TcpRemoteReader>(std::move(pair.client), encrypt);
        serving.emplace(std::make_unique<TcpRemoteServer>(std::move(pair.server), encrypt), memory);
    }

    static constexpr std::size_t region_bytes = 20'000'000;
    KnownMemory memory;
    std::unique_ptr<TcpRemoteReader> reader;
    std::optional<ServingThread> serving;
};

}  // namespace

TEST_CASE("TCP reads what is exposed, as every transport") {
    for (const bool encrypt : {false, true}) {
        CAPTURE(encrypt);
        Served served(encrypt);
        check_remote_reads(*served.reader, seed, 3, Served::region_bytes);
        check_a_large_read(*served.reader, Served::region_bytes);
        check_refusals(*served.reader);
    }
}

TEST_CASE("a reader whose peer has gone is told so, then and later") {
    Served served(false);
    served.serving->end();
    std::byte one{};
    const RemoteBox box{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    CHECK_THROWS_AS(served.reader->read(std::span(&box, 1), ignore_silence), PeerLost);
    CHECK_THROWS_AS(served.reader->read(std::span(&box, 1), ignore_silence), PeerLost);
}

TEST_CASE("a look that throws ends the read, and the reader with it") {
    Pair pair;
    shake_hands(pair.client, pair.server);  // no thread serves
    TcpRemoteReader reader(std::move(pair.client), false);
    std::byte one{};
    const RemoteBox box{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    const auto look = [](double) { throw PeerStalled("it is silent"); };
    CHECK_THROWS_AS(reader.read(std::span(&box, 1), look), PeerStalled);
    CHECK_THROWS_AS(reader.read(std::span(&box, 1), ignore_silence), PeerLost);
}

TEST_CASE("what an interrupted read had asked for is not taken for what the next one asks for") {
    Pair pair;
    shake_hands(pair.client, pair.server);
    TcpRemoteReader reader(std::move(pair.client), false);
    std::byte one{};
    const RemoteBox first{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    RemoteBox second = first;
    second.place.offset = 1;
    const auto look = [](double) { throw TimedOut("interrupted"); };
    CHECK_THROWS_AS(reader.read(std::span(&first, 1), look), TimedOut);
    KnownMemory memory(1, 100);
    const ServingThread serving(std::make_unique<TcpRemoteServer>(std::move(pair.server), false),
                                memory);
    CHECK_THROWS_AS(reader.read(std::span(&second, 1), ignore_silence), PeerLost);
    CHECK(one == std::byte{});
}

TEST_CASE("messages of any length arrive as they were posted, in order") {
    Pair pair;
    shake_hands(pair.client, pair.server);
    for (const bool ahead : {false, true}) {
        if (ahead) {
            pair.server.read_ahead();
        }
        for (const std::size_t bytes : {0, 1, 100, 65'536, 3'000'000, 7}) {
            Bytes message(bytes, static_cast<std::byte>(bytes));
            pair.client.post(message);
            pair.client.post(Bytes(3, std::byte{9}));
            CHECK(next_message(pair.client, pair.server) == message);
            CHECK(next_message(pair.client, pair.server) == Bytes(3, std::byte{9}));
        }
    }
}

TEST_CASE("a client with another key notices it, and says nothing") {
    Pair pair(a_key(1), a_key(2));
    CHECK_THROWS_WITH_AS(shake_hands(pair.client, pair.server),
                         doctest::Contains("not the writer's"), Refused);
    CHECK_FALSE(pair.server.proven());
}

TEST_CASE("a server refuses a client that proves nothing") {
    Sockets sockets;
    // The hello of a client with the right protocol, and then anything.
    SecureConnection real(std::move(sockets.client), a_key(2), Side::Client);
    SecureConnection server(std::move(sockets.server), a_key(1), Side::Server);
    real.flush();
    server.take();
    Bytes forged(56, std::byte{7});
    const TcpSocket& raw = real.socket();
    CHECK_THROWS_AS(wait_until(
                        [&] {
                            if (!forged.empty()) {
                                forged.erase(forged.begin(),
                                             forged.begin() + static_cast<std::ptrdiff_t>(
                                                                  raw.write_some(forged)));
                            }
                            server.take();
                            return false;
                        },
                        Deadline(10), "not refused"),
                    Refused);
}

TEST_CASE("what was said on one connection cannot be played to another server") {
    Bytes said;
    {
        Sockets sockets;
        SecureConnection client(std::move(sockets.client), a_key(), Side::Client);
        client.flush();
        said.resize(1000);
        wait_until(
            [&] {
                const std::size_t got = sockets.server.read_some(said);
                said.resize(got > 0 ? got : said.size());
                return got > 0;
            },
            Deadline(10), "no hello");
    }
    Sockets again;
    SecureConnection server(std::move(again.server), a_key(), Side::Server);
    again.client.write_some(said);
    again.client.write_some(said);  // in the place of the proof
    CHECK_THROWS_AS(wait_until(
                        [&] {
                            server.take();
                            return false;
                        },
                        Deadline(10), "not refused"),
                    Refused);
}

TEST_CASE("another version is named on both sides") {
    Sockets sockets;
    SecureConnection server(std::move(sockets.server), a_key(), SecureConnection::Side::Server);
    Bytes hello(56);
    hello[0] = std::byte{'0'};
    sockets.client.write_some(hello);
    const auto refused = [](SecureConnection& side) {
        CHECK_THROWS_WITH_AS(wait_until(
                                 [&] {
                                     side.take();
                                     return false;
                                 },
                                 Deadline(10), "not refused"),
                             doctest::Contains("different versions of Fluvial"), Error);
    };
    refused(server);
    Bytes reply(8);
    wait_until([&] { return sockets.client.read_some(reply) == reply.size(); }, Deadline(10),
               "no reply");
    Sockets again;
    SecureConnection client(std::move(again.client), a_key(), SecureConnection::Side::Client);
    client.flush();
    again.server.write_some(reply);
    refused(client);
}

TEST_CASE("random bytes to either side of a hand-shake are an error, and nothing else") {
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
        Sockets sockets;
        const bool to_server = round % 2 == 0;
        SecureConnection one(std::move(to_server ? sockets.server : sockets.client), a_key(),
                             to_server ? Side::Server : Side::Client);
        TcpSocket& other = to_server ? sockets.client : sockets.server;
        Bytes garbage(300);
        for (std::byte& b : garbage) {
            b = static_cast<std::byte>(random());
        }
        other.write_some(garbage);
        CHECK_THROWS_AS(wait_until(
                            [&] {
                                one.take();
                                return one.proven();
                            },
                            Deadline(10), "taken for good"),
                        Error);
    }
}

TEST_CASE(
    "raw bytes lie between the messages before and behind, however far a reader reads ahead") {
    for (const bool ahead : {false, true}) {
        CAPTURE(ahead);
        Pair pair;
        shake_hands(pair.client, pair.server);
        if (ahead) {
            pair.server.read_ahead();
        }
        constexpr std::size_t large = 3'000'000;
        const auto raw_bytes = std::make_shared<Bytes>(large);
        std::mt19937 random(seed);
        std::generate(raw_bytes->begin(), raw_bytes->end(),
                      [&] { return static_cast<std::byte>(random()); });
        pair.client.post(Bytes(5, std::byte{1}));
        pair.client.post_raw(std::span(*raw_bytes).first(7), raw_bytes);
        pair.client.post_raw(*raw_bytes, raw_bytes);
        pair.client.post(Bytes(5, std::byte{2}));
        CHECK(next_message(pair.client, pair.server) == Bytes(5, std::byte{1}));
        Bytes got(7 + large);
        std::size_t have = 0;
        wait_until(
            [&] {
                pair.client.flush();
                have += pair.server.read_raw(std::span(got).subspan(have));
                return have == got.size();
            },
            Deadline(10), "no bytes");
        CHECK(std::equal(raw_bytes->begin(), raw_bytes->begin() + 7, got.begin()));
        CHECK(std::equal(raw_bytes->begin(), raw_bytes->end(), got.begin() + 7));
        CHECK(next_message(pair.client, pair.server) == Bytes(5, std::byte{2}));
        CHECK_FALSE(pair.client.sending());
        CHECK(raw_bytes.use_count() == 1);
    }
}

TEST_CASE("a message that is changed, repeated or left out on its way ends the connection") {
    for (int fault = 0; fault < 3; ++fault) {
        CAPTURE(fault);
        Pair left;  // client, and the one in the middle
        Sockets right;
        // Relay the bytes of the client's second message with a fault.
        shake_hands(left.client, left.server);
        left.client.post(Bytes(10, std::byte{1}));
        left.client.post(Bytes(10, std::byte{2}));
        left.client.post(Bytes(10, std::byte{3}));
        left.client.flush();
        constexpr std::size_t sealed = 4 + 10 + 17;
        Bytes wire(3 * sealed);
        std::size_t got = 0;
        wait_until(
            [&] {
                got += left.server.read_raw(std::span(wire).subspan(got));
                return got == wire.size();
            },
            Deadline(10), "no bytes");
        Bytes changed = wire;
        if (fault == 0) {
            changed[sealed + 8] ^= std::byte{1};
        } else if (fault == 1) {
            std::copy_n(wire.begin(), sealed, changed.begin() + sealed);
        } else {
            std::copy_n(wire.begin() + 2 * sealed, sealed, changed.begin() + sealed);
        }
        // The client's socket sends them again, as they are.
        std::size_t sent = 0;
        while (sent < changed.size()) {
            sent += left.client.socket().write_some(std::span(changed).subspan(sent));
        }
        CHECK(next_message(left.client, left.server) == Bytes(10, std::byte{1}));
        CHECK_THROWS_WITH_AS(next_message(left.client, left.server),
                             doctest::Contains("changed on its way"), Error);
    }
}

TEST_CASE("little raw data between messages comes with these, several at a time") {
    Pair pair;
    shake_hands(pair.client, pair.server);
    pair.server.read_ahead();
    constexpr std::size_t size = 8000;
    constexpr int steps = 40;
    const Bytes raw(size, std::byte(3)), message(100, std::byte(5));
    for (int step = 0; step < steps; ++step) {
        pair.client.post(message);
        pair.client.post_raw(raw, nullptr);
    }
    int calls = 0;  // that brought something: where each goes to the system, two for each message
    for (int step = 0; step < steps; ++step) {
        CHECK(next_message(pair.client, pair.server) == message);
        Bytes got(size);
        for (std::size_t have = 0; have < size;) {
            pair.client.flush();
            const std::size_t some = pair.server.read_raw(std::span(got).subspan(have));
            have += some;
            calls += some > 0 ? 1 : 0;
        }
        CHECK(got == raw);
    }
    CHECK(calls < steps + steps / 2);
}

TEST_CASE("a connection takes any time to be given up after") {
    const Sockets sockets;
    for (const auto& [seconds, milliseconds] :
         {std::pair(60.0, 60'000), std::pair(4e7, std::numeric_limits<int>::max())}) {
        sockets.client.give_up_after(seconds);
        int set = 0;
        socklen_t bytes = sizeof set;
        ::getsockopt(sockets.client.descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &set, &bytes);
        CHECK(set == milliseconds);
    }
}
