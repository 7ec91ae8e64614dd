// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/local_socket.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using move::LocalListener;
using move::LocalSocket;
using move::MemoryFile;

namespace {

std::string fresh_address() {
    static int count = 0;
    return text("fluvial-test-", ::getpid(), "-", ++count);
}

struct Pair {
    Pair() : Pair(fresh_address()) {}
    explicit Pair(const std::string& address)
        : listener(address),
          client(std::move(*LocalSocket::connect(address))),
          server(std::move(*listener.accept(5000))) {}
    LocalListener listener;
    LocalSocket client;
    LocalSocket server;
};

std::span<const std::byte> bytes_of(const std::string& s) {
    return std::as_bytes(std::span(s));
}

std::string string_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("messages arrive whole and in order, in both directions") {
    Pair pair;
    pair.client.send(bytes_of("one"));
    pair.client.send(bytes_of(std::string(60000, 'x')));
    pair.client.send({});
    CHECK(string_of(pair.server.receive(Deadline(5)).bytes) == "one");
    CHECK(pair.server.receive(Deadline(5)).bytes.size() == 60000);
    CHECK(pair.server.receive(Deadline(5)).bytes.empty());
    pair.server.send(bytes_of("back"));
    CHECK(string_of(pair.client.receive(Deadline(5)).bytes) == "back");
    CHECK(pair.client.peer_is_same_user());
    CHECK(pair.server.peer_is_same_user());
}

TEST_CASE("more descriptors than a packet holds arrive in order") {
    constexpr int count = 270;
    Pair pair;
    std::vector<MemoryFile> files;
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) {
        files.push_back(MemoryFile::create("many", static_cast<std::size_t>(i + 1)));
        numbers.push_back(files.back().descriptor());
    }
    std::thread sender([&] { pair.client.send(bytes_of("files"), numbers); });
    move::Message message = pair.server.receive(Deadline(10));
    sender.join();
    CHECK(string_of(message.bytes) == "files");
    REQUIRE(message.descriptors.size() == count);
    for (int i = 0; i < count; ++i) {
        CHECK(
            MemoryFile::adopt(std::move(message.descriptors[static_cast<std::size_t>(i)])).size() ==
            static_cast<std::size_t>(i + 1));
    }
}

TEST_CASE("descriptors that nobody takes off the message are closed with it") {
    Pair pair;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pair.client.send({}, {ends[1]});
    ::close(ends[1]);
    {
        const move::Message message = pair.server.receive(Deadline(5));
    }
    char byte = 0;
    CHECK(::read(ends[0], &byte, 1) == 0);  // no writing end is open any more
    ::close(ends[0]);
}

TEST_CASE("nobody at the address") {
    CHECK_FALSE(LocalSocket::connect(fresh_address()).has_value());
    const std::string address = fresh_address();
    {
        const LocalListener listener(address);
    }
    CHECK_FALSE(LocalSocket::connect(address).has_value());
}

TEST_CASE("an address is taken once, and no file is left for it") {
    const std::string address = fresh_address();
    const LocalListener listener(address);
    CHECK_THROWS_AS(LocalListener{address}, SystemError);
    struct stat status{};
    CHECK(::stat(address.c_str(), &status) != 0);
}

TEST_CASE("an address too long is named") {
    CHECK_THROWS_WITH_AS(LocalSocket::connect(std::string(200, 'a')), doctest::Contains("too long"),
                         Error);
}

TEST_CASE("a message too long is refused on the sending side") {
    Pair pair;
    CHECK_THROWS_WITH_AS(pair.client.send(bytes_of(std::string(70000, 'x'))),
                         doctest::Contains("65536"), Error);
}

TEST_CASE("a silent peer is a time-out, a closed one is lost") {
    Pair pair;
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_AS(pair.server.receive(Deadline(0.1)), TimedOut);
    CHECK(now_ns() - begin_ns >= 90'000'000);
    {
        const LocalSocket gone = std::move(pair.client);
    }
    CHECK_THROWS_AS(pair.server.receive(Deadline(5)), PeerLost);
    CHECK_THROWS_AS(pair.server.send(bytes_of("x")), PeerLost);
}

TEST_CASE("a listener without a client returns after its time") {
    LocalListener listener(fresh_address());
    CHECK_FALSE(listener.accept(20).has_value());
}

TEST_CASE("a listener is stopped from another thread at once") {
    LocalListener listener(fresh_address());
    std::thread other([&] {
        ::usleep(20'000);
        listener.stop();
    });
    const std::int64_t begin_ns = now_ns();
    CHECK_FALSE(listener.accept(20'000).has_value());
    CHECK(now_ns() - begin_ns < 10'000'000'000);
    other.join();
}

TEST_CASE("a signal does not break a receive off") {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, nullptr);
    Pair pair;
    const pthread_t self = ::pthread_self();
    std::thread other([&] {
        for (int i = 0; i < 3; ++i) {
            ::usleep(20'000);
            ::pthread_kill(self, SIGUSR1);
        }
        pair.client.send(bytes_of("late"));
    });
    std::string got;
    CHECK_NOTHROW(got = string_of(pair.server.receive(Deadline(10)).bytes));
    other.join();
    CHECK(got == "late");
}

TEST_CASE("a peer that promises descriptors and sends packets without any is refused at once") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    LocalSocket receiver{move::Descriptor(ends[0])};
    const std::uint32_t promised = 1000;
    std::thread chatty([&] {
        ::send(ends[1], &promised, sizeof promised, MSG_NOSIGNAL);
        while (::send(ends[1], "", 1, MSG_NOSIGNAL) == 1) {
        }
    });
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_AS(receiver.receive(Deadline(1)), Error);
    CHECK(now_ns() - begin_ns < 5'000'000'000);
    {
        const LocalSocket gone = std::move(receiver);
    }
    chatty.join();
    ::close(ends[1]);
}

TEST_CASE("a packet too short for its head is an error") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    LocalSocket receiver{move::Descriptor(ends[0])};
    REQUIRE(::send(ends[1], "ab", 2, 0) == 2);
    CHECK_THROWS_AS(receiver.receive(Deadline(1)), Error);
    ::close(ends[1]);
}
