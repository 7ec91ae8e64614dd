// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/local_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fluvial/base/waiting.hpp"

namespace fluvial::host {
namespace {

constexpr std::size_t message_bytes_max = 65536;
constexpr std::size_t descriptors_max_a_packet = 200;  // the kernel's own limit is 253
constexpr const char* more_descriptors = "Raise the limit on open files (ulimit -n)";

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

/// What older kernels do not know they do without: receiving without room for descriptors.
void let_descriptors_in(int fd, bool allowed) {
#ifndef SO_PASSRIGHTS
    constexpr int SO_PASSRIGHTS = 83;
#endif
    const int value = allowed ? 1 : 0;
    ::setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
}

Descriptor new_socket() {
    Descriptor descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!descriptor.valid()) {
        throw_errno("cannot create a local socket", errno, more_descriptors);
    }
    let_descriptors_in(descriptor.get(), false);
    return descriptor;
}

/// `call`, again when a signal broke it off.
template <class Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
        result = call();
    }
    return result;
}

[[noreturn]] void throw_lost(const std::string& why) {
    throw PeerLost(Problem{"the peer closed the connection", why, "", ""});
}

/// False when there is no room now: try again later.
bool send_packet(int fd, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max_a_packet)] = {};
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
    if (uninterrupted([&] { return ::sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT); }) >= 0) {
        return true;
    }
    // ETOOMANYREFS: as many descriptors as this user may have open are on their way at this moment.
    if (errno != EAGAIN && errno != ETOOMANYREFS && errno != ENOBUFS) {
        throw_lost(std::strerror(errno));
    }
    return false;
}

void adopt_descriptors(msghdr& header, std::vector<Descriptor>& descriptors) {
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
}

/// An empty packet can bring descriptors, the end of a connection cannot.
bool has_rights(const msghdr& header) {
    return header.msg_controllen > 0 || (header.msg_flags & MSG_CTRUNC) != 0;
}

bool has_hung_up(int fd) {
    pollfd one{fd, POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0;
}

/// The payload of one packet, none when none is there. Its descriptors are appended to
/// `descriptors`; without that there is no room for any, and the kernel closes those that come.
std::optional<Bytes> receive_packet(int fd, std::vector<Descriptor>* descriptors) {
    Bytes bytes(message_bytes_max);
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max_a_packet)];
    msghdr header{};
    const auto receive = [&] {
        header = {};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        if (descriptors != nullptr) {
            header.msg_control = control;
            header.msg_controllen = sizeof control;
        }
        return uninterrupted(
            [&] { return ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); });
    };
    ssize_t got = receive();
    // The peer closed before it had read all that we sent; or, which looks like an end, it said
    // something and closed between the kernel's two looks, first at what there is and then at
    // whether there is a peer. What it said comes now, after at most one of each.
    const auto ended_early = [&] {
        return got < 0 ? errno == ECONNRESET : got == 0 && !has_rights(header) && has_hung_up(fd);
    };
    for (int look = 0; look < 2 && ended_early(); ++look) {
        got = receive();
    }
    if (got >= 0 && descriptors != nullptr) {
        adopt_descriptors(header, *descriptors);  // before anything can throw: they are open
    }
    if (got < 0 && errno == EAGAIN) {
        return std::nullopt;
    }
    if (got <= 0) {
        throw_lost(got < 0 ? std::strerror(errno) : "end of file");
    }
    if ((header.msg_flags & MSG_TRUNC) != 0) {
        throw Error(Problem{"a message of the peer is too long", "a packet",
                            text(message_bytes_max, " bytes"), ""});
    }
    if ((header.msg_flags & MSG_CTRUNC) != 0 && descriptors == nullptr) {
        throw Error("the peer sent descriptors that were not asked for");
    }
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
        throw SystemError(Problem{"descriptors of the peer did not arrive", "too many open files",
                                  "", more_descriptors});
    }
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

}  // namespace

bool wait_for_input(int descriptor, int timeout_ms) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, timeout_ms) > 0;
}

LocalSocket::LocalSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {
    let_descriptors_in(descriptor_.get(), false);
}

std::optional<LocalSocket> LocalSocket::connect(const std::string& address,
                                                const Deadline& deadline) {
    Descriptor descriptor = new_socket();
    const auto [name, length] = abstract_address(address);
    // Where the listener's queue is full, the kernel lets in first the process that waits longest,
    // and not one that asks again and again. So each look waits there, but briefly: meanwhile this
    // thread serves nothing. All that wait lose their place as often, and come again in order.
    constexpr timeval look{0, 5'000};
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look);
    bool listens = true;
    const auto is_decided = [&, name = name, length = length] {
        if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) {
            return true;
        }
        listens = errno != ECONNREFUSED && errno != ENOENT;
        if (listens && errno != EAGAIN && errno != EINTR) {
            throw_errno("cannot connect to the writer's socket", errno);
        }
        return !listens;
    };
    wait_until(is_decided, deadline,
               "so many clients wait for the peer that it did not take this one");
    if (!listens) {
        return std::nullopt;
    }
    return LocalSocket(std::move(descriptor));
}

// On the wire: a packet with the number of descriptors in the message and the payload, then packets
// of one byte with at most descriptors_max_a_packet of them each.
void LocalSocket::post(std::span<const std::byte> bytes, const std::vector<int>& descriptors) {
    ByteWriter first;
    first.put<std::uint32_t>(static_cast<std::uint32_t>(descriptors.size()));
    first.append(bytes.data(), bytes.size());
    if (first.size() > message_bytes_max) {
        throw Error(Problem{"a control message is too long", text(bytes.size()),
                            text(message_bytes_max), ""});
    }
    outgoing_.push_back({first.take(), {}});
    for (auto begin = descriptors.begin(); begin != descriptors.end();) {
        const auto count = std::min<std::ptrdiff_t>(descriptors_max_a_packet,
                                                    std::distance(begin, descriptors.end()));
        outgoing_.push_back({Bytes(1), {begin, begin + count}});
        begin += count;
    }
}

bool LocalSocket::flush() {
    while (!outgoing_.empty()) {
        const Packet& next = outgoing_.front();
        if (!send_packet(descriptor_.get(), next.bytes, next.descriptors)) {
            return false;
        }
        outgoing_.pop_front();
    }
    return true;
}

std::optional<Message> LocalSocket::take(std::size_t descriptors_max) {
    if (!incoming_) {
        const auto first = receive_packet(descriptor_.get(), nullptr);
        if (!first) {
            return std::nullopt;
        }
        ByteReader in(*first);
        expected_ = in.get<std::uint32_t>();
        if (expected_ > descriptors_max) {
            throw Error(Problem{"the peer sends descriptors that were not asked for",
                                text(expected_), text(descriptors_max, " at most"), ""});
        }
        incoming_.emplace();
        incoming_->bytes.assign(first->begin() + sizeof(std::uint32_t), first->end());
    }
    std::vector<Descriptor>& came = incoming_->descriptors;
    while (came.size() < expected_) {
        const std::size_t before = came.size();
        if (!receive_packet(descriptor_.get(), &came)) {
            return std::nullopt;
        }
        if (came.size() == before || came.size() > expected_) {
            // Else a hostile peer could keep us here for ever, or fill our table.
            throw Error(Problem{"a peer sends another number of descriptors than it promised",
                                text(came.size()), text(expected_), ""});
        }
    }
    return std::exchange(incoming_, std::nullopt);
}

void LocalSocket::send(std::span<const std::byte> bytes, const std::vector<int>& descriptors,
                       const Deadline& deadline) {
    post(bytes, descriptors);
    // Not by POLLOUT: room for descriptors on their way is not room in the socket.
    wait_until([this] { return flush(); }, deadline, "the peer does not take what is sent to it");
}

Message LocalSocket::receive(const Deadline& deadline, std::size_t descriptors_max) {
    std::optional<Message> message;
    const auto arrived = [&] { return (message = take(descriptors_max)).has_value(); };
    wait_until(arrived, deadline, "the peer does not answer");
    return std::move(*message);
}

void LocalSocket::allow_descriptors() {
    let_descriptors_in(descriptor_.get(), true);
}

uid_t LocalSocket::peer_user() const {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(descriptor_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        throw_errno("cannot ask for the user of a peer", errno);
    }
    return peer.uid;
}

LocalListener::LocalListener(const std::string& address) {
    const ForkPause pause;  // a child that kept the socket would keep clients of the dead waiting
    descriptor_ = new_socket();
    descriptor_.close_in_children(pause);
    const auto [name, length] = abstract_address(address);
    if (::bind(descriptor_.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
        ::listen(descriptor_.get(), 1024) != 0) {
        throw_errno("cannot listen on a local socket", errno);
    }
    ::fcntl(descriptor_.get(), F_SETFL, O_NONBLOCK);  // a client may go away before it is accepted
    restock();
}

std::optional<LocalSocket> LocalListener::accept() {
    const int fd = ::accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
        return LocalSocket(Descriptor(fd));
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        throw_errno("cannot accept a connection", errno, more_descriptors);
    }
    return std::nullopt;  // none waits, or it went away again
}

std::optional<LocalSocket> LocalListener::accept_in_need() {
    reserve_ = Descriptor();
    return accept();
}

void LocalListener::restock() {
    if (!reserve_.valid()) {
        reserve_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
}

void LocalListener::stop() {
    ::shutdown(descriptor_.get(), SHUT_RD);
}

}  // namespace fluvial::host
