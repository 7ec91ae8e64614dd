// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/host_service.hpp"

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;
using move::LocalSocket;

namespace {

const std::uint32_t seed = test_seed(1111);
constexpr std::uint32_t protocol = 0x464c5531;
using Nonce = std::array<unsigned char, 32>;
using Proof = std::array<unsigned char, 32>;

/// A writer of `ranks` ranks of which rank 0 is here.
struct Host {
    explicit Host(int ranks = 1)
        : stream({.queue_steps = 2}, ranks),
          arena("test", 1 << 20, 1 << 20),
          contact(new_contact()),
          service(std::make_unique<HostService>(contact, stream.control, arena.file())) {}

    Attachment attach_reader(const Contact& with, int rank = 0, int size = 1,
                             int group = -1) const {
        return attach(with, {Role::ReaderRank, rank, size, group, Start::Oldest, 42}, {},
                      Deadline(10));
    }
    bool nobody_attached() const {
        const ControlLock lock(stream.control);
        return stream.control.header().readers_high == 0;
    }

    Stream stream;
    Arena arena;
    Contact contact;
    std::unique_ptr<HostService> service;
};

LocalSocket connected(const Host& host) {
    return std::move(*LocalSocket::connect(host.contact.socket));
}

void send_hello(LocalSocket& socket) {
    ByteWriter hello;
    hello.put(protocol);
    hello.put(Nonce{});
    socket.send(hello.view());
}

/// The kind of the error that the service answers; empty when it has not refused.
std::string answered_error(LocalSocket& socket) {
    const move::Message message = socket.receive(Deadline(10));
    ByteReader in(message.bytes);
    return in.get<std::uint8_t>() == 0 ? in.get_string() : "";
}

}  // namespace

TEST_CASE("who holds the contact attaches and is sent the control block and the arenas") {
    const Host host;
    Attachment got = host.attach_reader(host.contact);
    CHECK(got.reply.cell == 0);
    CHECK(got.reply.group == 0);
    REQUIRE(got.descriptors.size() == 2);
    const ControlBlock control =
        ControlBlock::adopt(move::MemoryFile::adopt(std::move(got.descriptors[0])));
    CHECK(std::string(control.header().name) == "test");
    CHECK(control.reader(0).pid == 42);
    CHECK(move::MemoryFile::adopt(std::move(got.descriptors[1])).size() ==
          host.arena.file().size());
}

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
    ByteWriter answer;
    answer.put(Proof{});
    answer.put(AttachRequest{});
    socket.send(answer.view());
    CHECK(answered_error(socket) == "Refused");
    CHECK_THROWS_AS(socket.receive(Deadline(5)), PeerLost);
    CHECK(host.nobody_attached());
}

TEST_CASE("the service's own proof played back to it proves nothing") {
    const Host host;
    LocalSocket socket = connected(host);
    send_hello(socket);
    const move::Message challenge = socket.receive(Deadline(10));
    ByteReader in(challenge.bytes);
    CHECK(in.get<std::uint8_t>() == 1);
    in.get<Nonce>();
    const auto proof = in.get<Proof>();
    ByteWriter answer;
    answer.put(proof);
    answer.put(AttachRequest{});
    socket.send(answer.view());
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
        for (std::byte& b : garbage) b = static_cast<std::byte>(random());
        socket.send(garbage);
        CHECK(answered_error(socket) == "Error");
    }
    for (int i = 0; i < 20; ++i) connected(host);  // and those that go away at once
    CHECK(host.nobody_attached());
    CHECK_NOTHROW(host.attach_reader(host.contact));
}

TEST_CASE("a client that connects and says nothing keeps the others waiting for 2 s at most") {
    const Host host;
    const LocalSocket silent = connected(host);
    const std::int64_t begin_ns = now_ns();
    CHECK_NOTHROW(host.attach_reader(host.contact));
    CHECK(now_ns() - begin_ns < 3'500'000'000);
}

TEST_CASE("a client that promises descriptors and sends packets without end is cut off") {
    const Host host;
    LocalSocket chatty = connected(host);
    std::thread talk([&] {
        try {
            while (true) chatty.send(std::as_bytes(std::span("\xff\xff\xff\x7f", 4)));
        } catch (const PeerLost&) {
        }
    });
    const std::int64_t begin_ns = now_ns();
    CHECK_NOTHROW(host.attach_reader(host.contact));
    CHECK(now_ns() - begin_ns < 3'500'000'000);
    talk.join();
}

TEST_CASE("requests that make no sense are refused by those who could prove themselves") {
    const Host host;
    CHECK_THROWS_AS(host.attach_reader(host.contact, 2, 2), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, -1, 2), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 0, 0), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 0, 1, groups_max), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 1, 2, 3),
                    PeerLost);  // nobody opened that group
    CHECK(host.nobody_attached());
}

TEST_CASE("each writer rank attaches once, with its arena, before any reader") {
    const Host host(2);
    CHECK_THROWS_WITH_AS(host.attach_reader(host.contact), doctest::Contains("not complete yet"),
                         Error);
    const Arena arena("other", 1 << 21, 1 << 20);
    const auto attach_writer = [&](int rank, const std::vector<int>& descriptors) {
        return attach(host.contact, {Role::WriterRank, rank, 2, -1, Start::Oldest, 1}, descriptors,
                      Deadline(10));
    };
    CHECK_THROWS_AS(attach_writer(1, {}), Error);
    CHECK_THROWS_AS(attach_writer(0, {arena.file().descriptor()}), Error);
    CHECK_THROWS_AS(attach_writer(2, {arena.file().descriptor()}), Error);
    CHECK(attach_writer(1, {arena.file().descriptor()}).descriptors.size() == 1);
    CHECK_THROWS_WITH_AS(attach_writer(1, {arena.file().descriptor()}), doctest::Contains("rank 1"),
                         Error);
    Attachment got = host.attach_reader(host.contact);
    REQUIRE(got.descriptors.size() == 3);
    CHECK(move::MemoryFile::adopt(std::move(got.descriptors[2])).size() == arena.file().size());
}

TEST_CASE("a reader job for which there is no rank cell leaves no place occupied") {
    const Host host;
    for (int i = 0; i < readers_max; ++i) host.stream.control.reader(i).state = MemberState::Active;
    CHECK_THROWS_WITH_AS(host.attach_reader(host.contact), doctest::Contains("1024 at a time"),
                         Error);
    const ControlLock lock(host.stream.control);
    CHECK(host.stream.control.group(0).state == GroupState::Free);
    for (int i = 0; i < readers_max; ++i) host.stream.control.reader(i).state = MemberState::Free;
}

TEST_CASE("the service looks after the dead by itself") {
    const Host host;
    {
        const ControlLock lock(host.stream.control);
        host.stream.control.writer(0).state = MemberState::Active;  // without an alive lock: dead
    }
    const Deadline deadline(10);
    while (host.stream.control.header().failure.set == 0 && !deadline.passed()) ::usleep(10'000);
    CHECK(host.stream.control.header().failure.set == 1);
}
