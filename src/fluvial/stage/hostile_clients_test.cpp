// SPDX-License-Identifier: Apache-2.0
/// Clients of a HostService that have no key, or do not keep to the handshake.
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/host/open_descriptors_fixture.hpp"
#include "fluvial/stage/host_service_fixture.hpp"
#include "fluvial/stage/proof.hpp"

using namespace fluvial;
using namespace fluvial::stage;
using host::LocalSocket;
using host::open_descriptors;

namespace {

const TestSeed seed(1111);

LocalSocket connected(const Host& host) {
    return std::move(*LocalSocket::connect(host.contact.socket, Deadline(10)));
}

void send_hello(LocalSocket& socket) {
    ByteWriter hello;
    hello.put(handshake_protocol);
    hello.put(Nonce{});
    socket.send(hello.view(), {}, Deadline(10));
}

/// The kind of the error that the service answers; empty when it has not refused.
std::string answered_error(LocalSocket& socket) {
    const host::Message message = socket.receive(Deadline(10));
    ByteReader in(message.bytes);
    return in.get<std::uint8_t>() == 0 ? in.get_string() : "";
}

}  // namespace

TEST_CASE("a reader with another key notices it before it says anything of itself") {
    const Host host;
    Contact forged = host.contact;
    forged.key[7] ^= 1;
    CHECK_THROWS_WITH_AS(host.attach_reader(forged),
                         doctest::Contains("the key of the contact file is not the writer's"),
                         Refused);
    CHECK(host.nobody_attached());
    CHECK_NOTHROW(host.attach_reader(host.contact));
}

TEST_CASE("the service refuses a client that proves nothing, though it goes on speaking") {
    const Host host;
    LocalSocket socket = connected(host);
    send_hello(socket);
    CHECK(answered_error(socket).empty());  // the challenge
    ByteWriter response;
    response.put(Proof{});
    response.put(AttachRequest{});
    socket.send(response.view(), {}, Deadline(10));
    CHECK(answered_error(socket) == "Refused");
    CHECK_THROWS_AS(socket.receive(Deadline(5)), PeerLost);
    CHECK(host.nobody_attached());
}

TEST_CASE("the service's own proof played back to it proves nothing") {
    const Host host;
    LocalSocket socket = connected(host);
    send_hello(socket);
    const host::Message challenge = socket.receive(Deadline(10));
    ByteReader in(challenge.bytes);
    CHECK(in.get<std::uint8_t>() == 1);
    in.get<Nonce>();
    const auto proof = in.get<Proof>();
    ByteWriter response;
    response.put(proof);
    response.put(AttachRequest{});
    socket.send(response.view(), {}, Deadline(10));
    CHECK(answered_error(socket) == "Refused");
    CHECK(host.nobody_attached());
}

TEST_CASE(
    "garbage of any length is answered by an error or a closed connection, and the service goes "
    "on") {
    std::mt19937 random(seed);
    const Host host;
    for (std::size_t bytes = 0; bytes < 80; ++bytes) {
        LocalSocket socket = connected(host);
        Bytes garbage(bytes);
        for (std::byte& b : garbage) {
            b = static_cast<std::byte>(random());
        }
        socket.send(garbage, {}, Deadline(10));
        CHECK(answered_error(socket) == "Error");
    }
    for (int i = 0; i < 20; ++i) {
        connected(host);  // and clients that go away at once
    }
    CHECK(host.nobody_attached());
    CHECK_NOTHROW(host.attach_reader(host.contact));
}

TEST_CASE("clients that connect and say nothing keep no other client waiting") {
    const Host host;
    std::vector<LocalSocket> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(connected(host));
    }
    const std::int64_t begin_ns = now_ns();
    CHECK_NOTHROW(host.attach_reader(host.contact));
    CHECK(now_ns() - begin_ns < 5'000'000'000);  // at 2 s each it would be 40 s
}

TEST_CASE("a thousand silent clients do not shut a reader out, nor do half handshakes") {
    const Host host;
    std::vector<LocalSocket> silent;
    for (int i = 0; i < 1000; ++i) {
        silent.push_back(connected(host));
        if (i % 2 == 1) {
            send_hello(silent.back());
        }
    }
    CHECK_NOTHROW(host.attach_reader(host.contact));
    // The clients that stayed longest made room, and were told to come again.
    const Bytes last = silent.front().receive(Deadline(10)).bytes;
    REQUIRE(last.size() == 1);
    CHECK(static_cast<Verdict>(last[0]) == Verdict::ComeAgain);
}

TEST_CASE("a client that promises descriptors and sends packets without end is cut off") {
    const Host host;
    LocalSocket chatty = connected(host);
    std::thread talk([&] {
        try {
            while (true) {
                chatty.send(std::as_bytes(std::span("\xff\xff\xff\x7f", 4)), {}, Deadline(10));
            }
        } catch (const PeerLost&) {
        }
    });
    CHECK_NOTHROW(host.attach_reader(host.contact));
    talk.join();
}

TEST_CASE("thousands of connections that end at once leave nothing") {
    const Host host;
    host.attach_reader(host.contact);
    const auto before = open_descriptors();
    for (int i = 0; i < 3000; ++i) {
        connected(host);
    }
    CHECK_NOTHROW(host.attach_reader(host.contact));
    const Deadline deadline(20);
    while (open_descriptors() > before && !deadline.passed()) {
        ::usleep(1000);
    }
    CHECK(open_descriptors() <= before);  // that of the first reader may have closed meanwhile
}

TEST_CASE("a message of another length than the handshake's proves nothing, even with the key") {
    const Host host;
    for (const int more : {-1, 1, 1000}) {
        LocalSocket socket = connected(host);
        ByteWriter hello;
        hello.put(handshake_protocol);
        const Bytes rest(static_cast<std::size_t>(static_cast<int>(nonce_bytes) + more));
        hello.append(rest.data(), rest.size());
        socket.send(hello.view(), {}, Deadline(10));
        CHECK(answered_error(socket) == "Error");
    }
    for (const int more : {-1, 1, 1000}) {
        LocalSocket socket = connected(host);
        send_hello(socket);
        const host::Message challenge = socket.receive(Deadline(10));
        ByteReader in(challenge.bytes);
        in.get<Verdict>();
        const Proof proof = prove(host.contact.key, Side::Client, Nonce{}, in.get<Nonce>());
        ByteWriter response;
        response.put(proof);
        const Bytes rest(static_cast<std::size_t>(static_cast<int>(sizeof(AttachRequest)) + more));
        response.append(rest.data(), rest.size());
        socket.send(response.view(), {}, Deadline(10));
        CHECK(answered_error(socket) == "Error");
    }
    CHECK(host.nobody_attached());
}

TEST_CASE("what one connection proved, played back on another, proves nothing") {
    const Host host;
    Bytes recorded;
    for (const bool first : {true, false}) {
        LocalSocket socket = connected(host);
        send_hello(socket);
        const host::Message challenge = socket.receive(Deadline(10));
        ByteReader in(challenge.bytes);
        in.get<Verdict>();
        if (first) {
            ByteWriter response;
            response.put(prove(host.contact.key, Side::Client, Nonce{}, in.get<Nonce>()));
            response.put(AttachRequest{});
            recorded = response.take();
            socket.allow_descriptors();  // before the writer may send them
        }
        socket.send(recorded, {}, Deadline(10));
        if (first) {
            CHECK(socket.receive(Deadline(10), 2).descriptors.size() == 2);
        } else {
            CHECK(answered_error(socket) == "Refused");
        }
    }
}

TEST_CASE("a client of another user is refused before it may say anything") {
    if (::geteuid() != 0) {
        MESSAGE("not run: only root can act as another user");
        return;
    }
    const Host host;
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setuid(2) != 0) {
            ::_exit(98);
        }
        try {
            LocalSocket socket = connected(host);
            const host::Message message = socket.receive(Deadline(10));
            ByteReader in(message.bytes);
            const bool refused = in.get<Verdict>() == Verdict::Error &&
                                 in.get_string() == "Refused" &&
                                 in.get_string().find("uid 2") != std::string::npos;
            ::_exit(refused ? 0 : 1);
        } catch (const Error&) {
            ::_exit(2);
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(host.nobody_attached());
}
