// SPDX-License-Identifier: Apache-2.0
/// Peers of a LocalSocket that do not keep to its protocol.
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/local_socket.hpp"
#include "fluvial/host/open_descriptors_fixture.hpp"

using namespace fluvial;
using host::LocalSocket;
using host::open_descriptors;

namespace {

/// Sends `bytes` and `count` descriptors in one packet, as any process can.
ssize_t send_raw(int fd, std::size_t bytes, std::size_t count) {
    std::vector<char> payload(bytes);
    std::vector<int> numbers(count, STDERR_FILENO);
    std::vector<char> control(CMSG_SPACE(sizeof(int) * count));
    iovec part{payload.data(), payload.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (count > 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        std::memcpy(CMSG_DATA(rights), numbers.data(), sizeof(int) * count);
    }
    return ::sendmsg(fd, &header, MSG_NOSIGNAL);
}

struct RawPair {
    RawPair() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        receiver.emplace(host::Descriptor(ends[0]));
        sender = host::Descriptor(ends[1]);
    }
    std::optional<LocalSocket> receiver;
    host::Descriptor sender;
};

}  // namespace

TEST_CASE("a peer that promises descriptors and sends packets without any is refused at once") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    LocalSocket receiver{host::Descriptor(ends[0])};
    const std::uint32_t promised = 1000;
    std::thread chatty([&] {
        ::send(ends[1], &promised, sizeof promised, MSG_NOSIGNAL);
        while (::send(ends[1], "", 1, MSG_NOSIGNAL) == 1) {
        }
    });
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_AS(receiver.receive(Deadline(20), promised), Error);
    CHECK(now_ns() - begin_ns < 15'000'000'000);
    {
        const LocalSocket gone = std::move(receiver);
    }
    chatty.join();
    ::close(ends[1]);
}

TEST_CASE("a packet too short for its head is an error") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    LocalSocket receiver{host::Descriptor(ends[0])};
    REQUIRE(::send(ends[1], "ab", 2, 0) == 2);
    CHECK_THROWS_AS(receiver.receive(Deadline(1)), Error);
    ::close(ends[1]);
}

TEST_CASE("descriptors that were not asked for do not come in, in packets of any length") {
    const std::size_t before = open_descriptors();
    for (const std::size_t bytes : {0, 1, 4, 40, 200}) {
        for (const bool old_kernel : {false, true}) {
            CAPTURE(bytes);
            CAPTURE(old_kernel);
            RawPair pair;
            if (old_kernel) {  // which does not know how to refuse them
                pair.receiver->allow_descriptors();
            }
            const ssize_t sent = send_raw(pair.sender.get(), bytes, 50);
            CHECK((sent == static_cast<ssize_t>(bytes) || (sent < 0 && !old_kernel)));
            const std::size_t open = open_descriptors();
            if (sent >= 0) {
                CHECK_THROWS_AS(pair.receiver->take(), Error);
            }
            CHECK(open_descriptors() == open);
        }
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("descriptors beyond those that were promised are closed again") {
    const std::size_t before = open_descriptors();
    {
        RawPair pair;
        pair.receiver->allow_descriptors();
        const std::uint32_t promised = 2;
        REQUIRE(::send(pair.sender.get(), &promised, sizeof promised, 0) == sizeof promised);
        REQUIRE(send_raw(pair.sender.get(), 1, 7) == 1);
        CHECK_THROWS_WITH_AS(pair.receiver->receive(Deadline(5), 2),
                             doctest::Contains("another number of descriptors"), Error);
    }
    {
        RawPair pair;  // and those of an empty packet, which looks like an end
        pair.receiver->allow_descriptors();
        const std::uint32_t promised = 2;
        REQUIRE(::send(pair.sender.get(), &promised, sizeof promised, 0) == sizeof promised);
        REQUIRE(send_raw(pair.sender.get(), 0, 2) == 0);
        CHECK_THROWS_AS(pair.receiver->receive(Deadline(5), 2), PeerLost);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("a peer that promises more than is allowed is refused before it sends any") {
    RawPair pair;
    const std::uint32_t promised = 2;
    REQUIRE(::send(pair.sender.get(), &promised, sizeof promised, 0) == sizeof promised);
    CHECK_THROWS_WITH_AS(pair.receiver->receive(Deadline(5), 1), doctest::Contains("not asked for"),
                         Error);
}

TEST_CASE("a packet longer than any message is an error, not a message cut short") {
    RawPair pair;
    REQUIRE(send_raw(pair.sender.get(), 70'000, 0) == 70'000);
    CHECK_THROWS_WITH_AS(pair.receiver->receive(Deadline(5)), doctest::Contains("too long"), Error);
}
