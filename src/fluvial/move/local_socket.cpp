// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/local_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fluvial/base/interrupt.hpp"

namespace fluvial::move {
namespace {

constexpr std::size_t message_bytes_max = 65536;
constexpr std::size_t descriptors_max = 200;  // the kernel's own limit is 253 a packet

std::pair<sockaddr_un, socklen_t> abstract_address(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof address.sun_path) {
        throw Error(Problem{"a socket name is too long", name,
                            text(sizeof address.sun_path - 1, " bytes"), ""});
    }
    std::memcpy(address.sun_path + 1, name.data(),
                name.size());  // the leading zero byte makes it abstract
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

Descriptor new_socket() {
    Descriptor descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!descriptor.valid()) {
        throw_errno("cannot create a local socket", errno,
                    "Raise the limit on open files (ulimit -n)");
    }
    return descriptor;
}

bool wait_for_input(int fd, int timeout_ms) {
    pollfd poll_one{fd, POLLIN, 0};
    return ::poll(&poll_one, 1, timeout_ms) > 0;
}

/// `call`, again when a signal broke it off.
template <class Call>
ssize_t uninterrupted(Call call) {
    ssize_t result = 0;
    do {
        result = call();
    } while (result < 0 && errno == EINTR);
    return result;
}

void send_packet(int fd, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max)] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    if (uninterrupted([&] { return ::sendmsg(fd, &header, MSG_NOSIGNAL); }) < 0) {
        throw PeerLost(Problem{"the peer closed the connection", std::strerror(errno), "", ""});
    }
}

/// The payload of one packet; its descriptors are appended to `descriptors`.
Bytes receive_packet(int fd, std::vector<Descriptor>& descriptors) {
    Bytes bytes(message_bytes_max);
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max)];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t got = uninterrupted([&] { return ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC); });
    if (got <= 0) {
        throw PeerLost(Problem{"the peer closed the connection",
                               got < 0 ? std::strerror(errno) : "end of file", "", ""});
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int received = -1;
                std::memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                descriptors.emplace_back(received);
            }
        }
    }
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
        throw SystemError(Problem{"descriptors of the peer did not arrive", "too many open files",
                                  "", "Raise the limit on open files (ulimit -n)"});
    }
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

}  // namespace

std::optional<LocalSocket> LocalSocket::connect(const std::string& address) {
    Descriptor descriptor = new_socket();
    const auto [name, length] = abstract_address(address);
    if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
        if (errno == ECONNREFUSED || errno == ENOENT) {
            return std::nullopt;
        }
        throw_errno("cannot connect to the writer's socket", errno);
    }
    return LocalSocket(std::move(descriptor));
}

// On the wire: a packet with the number of descriptors in the message, then packets of at most
// descriptors_max of them, each carrying one byte, and the payload in the first.
void LocalSocket::send(std::span<const std::byte> bytes, const std::vector<int>& descriptors) {
    ByteWriter first;
    first.put<std::uint32_t>(static_cast<std::uint32_t>(descriptors.size()));
    first.append(bytes.data(), bytes.size());
    if (first.size() > message_bytes_max) {
        throw Error(Problem{"a control message is too long", text(bytes.size()),
                            text(message_bytes_max), ""});
    }
    send_packet(descriptor_.get(), first.view(), {});
    const std::byte filler{};
    for (std::size_t begin = 0; begin < descriptors.size(); begin += descriptors_max) {
        const std::size_t count = std::min(descriptors_max, descriptors.size() - begin);
        send_packet(descriptor_.get(), {&filler, 1}, std::span(descriptors).subspan(begin, count));
    }
}

Message LocalSocket::receive(const Deadline& deadline) {
    const auto wait = [&] {
        constexpr std::int64_t look_ms = 100;
        while (!wait_for_input(
            descriptor_.get(),
            static_cast<int>(std::min(deadline.left_ns() / 1'000'000 + 1, look_ms)))) {
            if (deadline.passed()) {
                throw TimedOut("the peer accepted the connection but did not answer in time");
            }
            check_interrupt();
        }
    };
    Message message;
    wait();
    const Bytes first = receive_packet(descriptor_.get(), message.descriptors);
    ByteReader in(first);
    const auto expected = in.get<std::uint32_t>();
    message.bytes.assign(first.begin() + sizeof expected, first.end());
    while (message.descriptors.size() < expected) {
        wait();
        const std::size_t before = message.descriptors.size();
        receive_packet(descriptor_.get(), message.descriptors);
        if (message.descriptors.size() ==
            before) {  // else a hostile peer could keep us here for ever
            throw Error(Problem{"a peer promised more descriptors than it sends", text(before),
                                text(expected), ""});
        }
    }
    return message;
}

bool LocalSocket::peer_is_same_user() const {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(descriptor_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return false;
    }
    return peer.uid == ::geteuid() || peer.uid == 0 || ::geteuid() == 0;
}

LocalListener::LocalListener(const std::string& address) : descriptor_(new_socket()) {
    const auto [name, length] = abstract_address(address);
    if (::bind(descriptor_.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
        ::listen(descriptor_.get(), 1024) != 0) {
        throw_errno("cannot listen on a local socket", errno);
    }
}

std::optional<LocalSocket> LocalListener::accept(int timeout_ms) {
    if (!wait_for_input(descriptor_.get(), timeout_ms)) {
        return std::nullopt;
    }
    const int fd = ::accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
        return std::nullopt;  // the peer went away again, or no descriptor is free: it will see a
                              // time-out and say so
    }
    return LocalSocket(Descriptor(fd));
}

void LocalListener::stop() {
    ::shutdown(descriptor_.get(), SHUT_RD);
}

}  // namespace fluvial::move
