// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tcp_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/socket_address.hpp"

namespace fluvial::move {
namespace {

constexpr const char* more_descriptors = "Raise the limit on open files (ulimit -n)";
constexpr int backlog = 128;

void set(int fd, int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
}

void prepare(int fd) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
}

/// Without a free descriptor it is none, and errno says so.
host::Descriptor new_socket(int family) {
    const ForkPause pause;
    host::Descriptor descriptor(
        ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (descriptor.valid()) {
        descriptor.close_in_children(pause);
    }
    return descriptor;
}

/// Writable, or failed. False at the deadline.
bool wait_until_connected(int fd, const Deadline& deadline) {
    pollfd one{fd, POLLOUT, 0};
    return came_in_time([&] { return ::poll(&one, 1, 0) > 0; }, deadline);
}

[[noreturn]] void throw_lost(const char* why) {
    throw PeerLost(Problem{"the connection to another host has ended", why, "", ""});
}

bool try_later(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
}

}  // namespace

std::string text_of(const Endpoint& endpoint) {
    const bool six = endpoint.address.find(':') != std::string::npos;
    return text(six ? "[" : "", endpoint.address, six ? "]" : "", ':', endpoint.port);
}

Endpoint endpoint_of(const std::string& given) {
    const auto colon = given.rfind(':');
    Endpoint endpoint;
    if (colon != std::string::npos) {
        endpoint.address = given.substr(0, colon);
        if (endpoint.address.size() > 2 && endpoint.address.front() == '[' &&
            endpoint.address.back() == ']') {
            endpoint.address = endpoint.address.substr(1, endpoint.address.size() - 2);
        }
        const char* first = given.data() + colon + 1;
        const char* last = given.data() + given.size();
        const auto parsed = std::from_chars(first, last, endpoint.port);
        if (parsed.ec == std::errc() && parsed.ptr == last && endpoint.port != 0 &&
            numeric(endpoint.address, endpoint.port)) {
            return endpoint;
        }
    }
    throw InvalidArgument(Problem{"this is no address of a network", given.substr(0, 80),
                                  "\"10.77.0.1:40123\" or \"[fd00::1]:40123\"", ""});
}

TcpSocket::TcpSocket(host::Descriptor descriptor) : descriptor_(std::move(descriptor)) {
    prepare(descriptor_.get());
}

std::optional<TcpSocket> TcpSocket::connect(const Endpoint& to, const Deadline& deadline,
                                            std::string& why) {
    const auto address = numeric(to.address, to.port);
    if (!address) {
        why = "not an address";
        return std::nullopt;
    }
    host::Descriptor descriptor = new_socket(address->family());
    if (!descriptor.valid()) {
        why = text(std::strerror(errno), "; ", more_descriptors);
        return std::nullopt;
    }
    TcpSocket socket(std::move(descriptor));
    int error = ::connect(socket.descriptor(), address->get(), address->bytes) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        if (!wait_until_connected(socket.descriptor(), deadline)) {
            why = "no reply";
            return std::nullopt;
        }
        socklen_t bytes = sizeof error;
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    }
    if (error != 0) {
        why = std::strerror(error);
        return std::nullopt;
    }
    return socket;
}

TcpSocket TcpSocket::begin(const Endpoint& to) {
    const auto address = numeric(to.address, to.port);
    if (!address) {
        throw_lost("not an address");
    }
    host::Descriptor descriptor = new_socket(address->family());
    if (!descriptor.valid()) {
        throw_lost(std::strerror(errno));
    }
    TcpSocket socket(std::move(descriptor));
    if (::connect(socket.descriptor(), address->get(), address->bytes) != 0 &&
        errno != EINPROGRESS) {
        throw_lost(std::strerror(errno));
    }
    return socket;
}

std::size_t TcpSocket::read_some(std::span<std::byte> to) const {
    return read_some(to, {});
}

std::size_t TcpSocket::read_some(std::span<std::byte> to, std::span<std::byte> behind) const {
    if (to.empty() && behind.empty()) {
        return 0;
    }
    iovec places[] = {{to.data(), to.size()}, {behind.data(), behind.size()}};
    msghdr header{};
    header.msg_iov = places;
    header.msg_iovlen = behind.empty() ? 1 : 2;
    const ssize_t got = ::recvmsg(descriptor(), &header, MSG_DONTWAIT);
    if (got > 0) {
        return static_cast<std::size_t>(got);
    }
    if (got == 0) {
        throw_lost("the other side has closed it");
    }
    if (!try_later(errno)) {
        throw_lost(std::strerror(errno));
    }
    return 0;
}

std::size_t TcpSocket::write_some(std::span<const std::byte> bytes) const {
    return write_some(std::span(&bytes, 1));
}

std::size_t TcpSocket::write_some(std::span<const std::span<const std::byte>> parts) const {
    constexpr std::size_t parts_max = 64;
    iovec places[parts_max];
    msghdr header{};
    header.msg_iov = places;
    header.msg_iovlen = std::min(parts.size(), parts_max);
    std::transform(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(header.msg_iovlen),
                   places, [](std::span<const std::byte> part) {
                       return iovec{const_cast<std::byte*>(part.data()), part.size()};
                   });
    const ssize_t sent = ::sendmsg(descriptor(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !try_later(errno)) {
        throw_lost(std::strerror(errno));
    }
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void TcpSocket::give_up_after(double seconds) const {
    const double most = std::numeric_limits<int>::max();
    set(descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT,
        static_cast<int>(std::min(seconds * 1000, most)));
}

void TcpSocket::end_writing() const {
    ::shutdown(descriptor(), SHUT_WR);
}

bool TcpSocket::acknowledged() const {
    int bytes = 0;
    return ::ioctl(descriptor(), SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

double TcpSocket::round_trip_s() const {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    ::getsockopt(descriptor(), IPPROTO_TCP, TCP_INFO, &info, &bytes);
    return info.tcpi_rtt * 1e-6;
}

std::string TcpSocket::peer() const {
    Address address;
    address.bytes = sizeof address.storage;
    if (::getpeername(descriptor(), address.get(), &address.bytes) != 0) {
        return "an address that is gone";
    }
    return text_of(endpoint_of(address));
}

std::string TcpSocket::own_address() const {
    Address address;
    address.bytes = sizeof address.storage;
    if (::getsockname(descriptor(), address.get(), &address.bytes) != 0) {
        throw_errno("cannot tell the address of a connection", errno);
    }
    return endpoint_of(address).address;
}

bool TcpListener::listen_on(const std::vector<std::string>& addresses, std::uint16_t port) {
    listening_.clear();
    port_ = port;
    for (const std::string& wanted : addresses) {
        auto address = numeric(wanted, port_);
        host::Descriptor descriptor = address ? new_socket(address->family()) : host::Descriptor();
        if (!descriptor.valid()) {
            return false;
        }
        if (address->family() == AF_INET6) {
            set(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
        }
        set(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        Address bound;
        bound.bytes = sizeof bound.storage;
        if (::bind(descriptor.get(), address->get(), address->bytes) != 0 ||
            ::listen(descriptor.get(), backlog) != 0 ||
            ::getsockname(descriptor.get(), bound.get(), &bound.bytes) != 0) {
            return false;
        }
        port_ = endpoint_of(bound).port;  // the others get the same
        listening_.push_back(std::move(descriptor));
    }
    return true;
}

TcpListener::TcpListener(const std::vector<std::string>& addresses, std::uint16_t first,
                         std::uint16_t last) {
    constexpr int tries_max = 20;  // for a port that is free on all addresses
    int tries = 0;
    std::uint16_t port = first;
    while (!listen_on(addresses, port)) {
        const int error = errno;
        const bool more = first == 0 ? ++tries < tries_max : port < last;
        if (!more || (error != EADDRINUSE && error != EACCES)) {
            std::string all;
            for (const std::string& address : addresses) {
                all += (all.empty() ? "" : ", ") + address;
            }
            throw_errno(text("cannot listen on ", all, ", port ", first, " to ", last), error,
                        "Choose other ports, or another network, or none (network='off')");
        }
        port = static_cast<std::uint16_t>(first == 0 ? 0 : port + 1);
    }
}

std::optional<TcpSocket> TcpListener::accept() const {
    for (const host::Descriptor& listening : listening_) {
        // Without a free descriptor, accept(2) fails even when no peer is there.
        pollfd one{listening.get(), POLLIN, 0};
        if (::poll(&one, 1, 0) <= 0) {
            continue;
        }
        const ForkPause pause;
        host::Descriptor descriptor(
            ::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (descriptor.valid()) {
            descriptor.close_in_children(pause);
            return TcpSocket(std::move(descriptor));
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            throw_errno("cannot accept a connection", errno, more_descriptors);
        }
    }
    return std::nullopt;
}

std::vector<int> TcpListener::descriptors() const {
    std::vector<int> all;
    for (const host::Descriptor& listening : listening_) {
        all.push_back(listening.get());
    }
    return all;
}

}  // namespace fluvial::move
