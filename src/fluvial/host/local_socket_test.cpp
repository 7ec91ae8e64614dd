// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/local_socket.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/open_descriptors_fixture.hpp"

using namespace fluvial;
using host::LocalListener;
using host::LocalSocket;
using host::MemoryFile;
using host::open_descriptors;

namespace {

std::string fresh_address() {
    static int count = 0;
    return text("fluvial-test-", ::getpid(), "-", ++count);
}

struct Pair {
    Pair() : Pair(fresh_address()) {}
    explicit Pair(const std::string& address)
        : listener(address),
          client(std::move(*LocalSocket::connect(address, Deadline(5)))),
          server(std::move(*listener.accept())) {}
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
    pair.client.send(bytes_of("one"), {}, Deadline(5));
    pair.client.send(bytes_of(std::string(60000, 'x')), {}, Deadline(5));
    pair.client.send({}, {}, Deadline(5));
    CHECK(string_of(pair.server.receive(Deadline(5)).bytes) == "one");
    CHECK(pair.server.receive(Deadline(5)).bytes.size() == 60000);
    CHECK(pair.server.receive(Deadline(5)).bytes.empty());
    pair.server.send(bytes_of("back"), {}, Deadline(5));
    CHECK(string_of(pair.client.receive(Deadline(5)).bytes) == "back");
    CHECK(pair.client.peer_user() == ::geteuid());
    CHECK(pair.server.peer_user() == ::geteuid());
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
    pair.server.allow_descriptors();
    std::thread sender([&] { pair.client.send(bytes_of("files"), numbers, Deadline(10)); });
    host::Message message = pair.server.receive(Deadline(10), count);
    sender.join();
    CHECK(string_of(message.bytes) == "files");
    REQUIRE(message.descriptors.size() == count);
    for (int i = 0; i < count; ++i) {
        CHECK(
            MemoryFile::adopt(std::move(message.descriptors[static_cast<std::size_t>(i)])).size() ==
            static_cast<std::size_t>(i + 1));
    }
}

TEST_CASE("descriptors that are not taken off the message are closed with it") {
    Pair pair;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pair.server.allow_descriptors();
    pair.client.send({}, {ends[1]}, Deadline(5));
    ::close(ends[1]);
    {
        const host::Message message = pair.server.receive(Deadline(5), 1);
    }
    char byte = 0;
    CHECK(::read(ends[0], &byte, 1) == 0);  // no writing end is open any more
    ::close(ends[0]);
}

TEST_CASE("an address where no process listens") {
    CHECK_FALSE(LocalSocket::connect(fresh_address(), Deadline(5)).has_value());
    const std::string address = fresh_address();
    {
        const LocalListener listener(address);
    }
    CHECK_FALSE(LocalSocket::connect(address, Deadline(5)).has_value());
}

TEST_CASE("an address is taken once, and no file is left for it") {
    const std::string address = fresh_address();
    const LocalListener listener(address);
    CHECK_THROWS_AS(LocalListener{address}, SystemError);
    struct stat status{};
    CHECK(::stat(address.c_str(), &status) != 0);
}

TEST_CASE("an address too long is named") {
    CHECK_THROWS_WITH_AS(LocalSocket::connect(std::string(200, 'a'), Deadline(5)),
                         doctest::Contains("too long"), Error);
}

TEST_CASE("a message too long is refused on the sending side") {
    Pair pair;
    CHECK_THROWS_WITH_AS(pair.client.post(bytes_of(std::string(70000, 'x'))),
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
    CHECK_THROWS_AS(pair.server.send(bytes_of("x"), {}, Deadline(5)), PeerLost);
}

TEST_CASE("a listener without a client has nothing to accept") {
    LocalListener listener(fresh_address());
    CHECK_FALSE(host::wait_for_input(listener.descriptor(), 20));
    CHECK_FALSE(listener.accept().has_value());
}

TEST_CASE("a thread that polls a listener is woken at once when another thread stops it") {
    LocalListener listener(fresh_address());
    std::thread other([&] {
        ::usleep(20'000);
        listener.stop();
    });
    const std::int64_t begin_ns = now_ns();
    CHECK(host::wait_for_input(listener.descriptor(), 20'000));
    CHECK_FALSE(listener.accept().has_value());
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
        pair.client.send(bytes_of("late"), {}, Deadline(5));
    });
    std::string got;
    CHECK_NOTHROW(got = string_of(pair.server.receive(Deadline(10)).bytes));
    other.join();
    CHECK(got == "late");
}

TEST_CASE("what a peer sent before it closed arrives, though it did not read all") {
    Pair pair;
    pair.client.send(bytes_of("unread"), {}, Deadline(5));
    pair.server.send(bytes_of("no"), {}, Deadline(5));
    {
        const LocalSocket gone = std::move(pair.server);
    }
    CHECK(string_of(pair.client.receive(Deadline(5)).bytes) == "no");
    CHECK_THROWS_AS(pair.client.receive(Deadline(5)), PeerLost);
}

TEST_CASE("a peer that never reads does not block the process that sends to it") {
    Pair pair;
    for (int i = 0; i < 100; ++i) {
        pair.server.post(bytes_of(std::string(60'000, 'x')));
    }
    CHECK_FALSE(pair.server.flush());
    CHECK_THROWS_AS(pair.server.send({}, {}, Deadline(0.1)), TimedOut);
    for (int i = 0; i < 100; ++i) {
        CHECK(pair.client.receive(Deadline(5)).bytes.size() == 60'000);
        pair.server.flush();
    }
    CHECK(pair.server.flush());
}

TEST_CASE("a listener that accepts no connection is a time-out, once its queue is full") {
    const std::string address = fresh_address();
    const LocalListener listener(address);
    std::vector<LocalSocket> clients;
    CHECK_THROWS_AS(
        [&] {
            while (clients.size() < 5000) {
                clients.push_back(std::move(*LocalSocket::connect(address, Deadline(0.2))));
            }
        }(),
        TimedOut);
}

TEST_CASE("without a free descriptor a client can still be told why") {
    const std::string address = fresh_address();
    LocalListener listener(address);
    LocalSocket client = std::move(*LocalSocket::connect(address, Deadline(5)));
    LocalSocket second = std::move(*LocalSocket::connect(address, Deadline(5)));
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    std::vector<host::Descriptor> all;
    const rlimit low{open_descriptors() + 20, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    for (int fd = 0; (fd = ::dup(STDERR_FILENO)) >= 0;) {
        all.emplace_back(fd);
    }
    CHECK_THROWS_WITH_AS(listener.accept(), doctest::Contains("ulimit -n"), SystemError);
    for (LocalSocket* waiting : {&client, &second}) {
        {
            auto last = listener.accept_in_need();
            REQUIRE(last.has_value());
            last->post(bytes_of("full"));
            CHECK(last->flush());
        }
        listener.restock();
        CHECK(string_of(waiting->receive(Deadline(5)).bytes) == "full");
    }
    all.clear();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

TEST_CASE("descriptors on their way are bounded by the kernel: the rest is sent later") {
    if (::geteuid() != 0) {
        MESSAGE("not run: only root can become a user that has none on their way");
        return;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        Pair pair;
        pair.client.allow_descriptors();
        const rlimit low{64, 64};
        if (::setrlimit(RLIMIT_NOFILE, &low) != 0 || ::setuid(12'321) != 0) {
            ::_exit(98);
        }
        constexpr int messages = 5;
        const std::vector<int> numbers(30, STDERR_FILENO);
        for (int i = 0; i < messages; ++i) {
            pair.server.post(bytes_of("files"), numbers);
        }
        bool held_back = false;
        for (int i = 0; i < messages; ++i) {
            held_back = !pair.server.flush() || held_back;
            if (pair.client.receive(Deadline(5), 30).descriptors.size() != 30) {
                ::_exit(1);
            }
        }
        ::_exit(held_back && pair.server.flush() ? 0 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}
