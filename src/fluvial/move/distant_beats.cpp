// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/distant_beats.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <sodium.h>
#include <sys/socket.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/move/socket_address.hpp"

namespace fluvial::move {

namespace {

constexpr double interval_max_s = 1;
/// Some may be lost, or come late.
constexpr double beats_in_limit_min = 8;
/// In one visit: a flood of datagrams holds up no other customer of the thread.
constexpr int taken_max = 4096;

struct Beat {
    std::array<char, 8> what{'F', 'L', 'U', 'B', 'E', 'A', 'T', '1'};
    std::int64_t member = 0;
    std::uint64_t count = 0;
};

struct Datagram {
    Beat beat;
    std::array<unsigned char, crypto_auth_BYTES> proof{};
};
static_assert(sizeof(Datagram) == sizeof(Beat) + crypto_auth_BYTES, "without gaps");

const unsigned char* bytes_of(const Beat& beat) {
    return reinterpret_cast<const unsigned char*>(&beat);
}

double interval_s(double stall_timeout_s) {
    return std::min(interval_max_s, stall_timeout_s / beats_in_limit_min);
}

/// By a socket for addresses of that family; one of IPv6 sends to addresses of IPv4 as well.
std::optional<Address> address_of(const Endpoint& endpoint, int family) {
    auto address = numeric(endpoint.address, endpoint.port);
    if (address && address->family() == AF_INET && family == AF_INET6) {
        address = numeric("::ffff:" + endpoint.address, endpoint.port);
    }
    return address && address->family() == family ? address : std::nullopt;
}

bool bind_to(int fd, int family, std::uint16_t port) {
    const auto any = numeric(family == AF_INET ? "0.0.0.0" : "::", port);
    return ::bind(fd, any->get(), any->bytes) == 0;
}

bool bind_to_one_of(int fd, int family, const PortRange& ports) {
    if (ports.first == 0) {
        return bind_to(fd, family, 0);
    }
    for (int port = ports.first; port <= ports.last; ++port) {
        if (bind_to(fd, family, static_cast<std::uint16_t>(port))) {
            return true;
        }
    }
    return false;
}

std::uint16_t port_of(int fd) {
    Address address;
    address.bytes = sizeof address.storage;
    ::getsockname(fd, address.get(), &address.bytes);
    return endpoint_of(address).port;
}

}  // namespace

SharedKey drawn_key() {
    if (sodium_init() < 0) {
        throw SystemError("libsodium finds no source of random numbers");
    }
    SharedKey key{};
    randombytes_buf(key.data(), key.size());
    return key;
}

BeatSocket::BeatSocket(const std::string& network, const PortRange& ports, bool only_ipv4) {
    const Interfaces interfaces = interfaces_of(network);
    if (interfaces.reachable_at.empty()) {
        return;
    }
    const ForkPause pause;
    const auto open = [this](int family) {
        family_ = family;
        descriptor_ =
            host::Descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        return descriptor_.valid();
    };
    if ((only_ipv4 || !open(AF_INET6)) && !open(AF_INET)) {
        return;  // no descriptor is free: nobody is watched from here
    }
    descriptor_.close_in_children(pause);
    const int both = 0;
    ::setsockopt(descriptor_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
    if (!bind_to_one_of(descriptor_.get(), family_, ports)) {
        throw SystemError(Problem{text("no port is free for heartbeats: ", std::strerror(errno)),
                                  text("UDP, from ", ports.first, " to ", ports.last), "",
                                  "Give a wider range of ports"});
    }
    for (const std::string& address : interfaces.reachable_at) {
        reachable_at_.push_back({address, port_of(descriptor_.get())});
    }
}

DistantBeats::DistantBeats(BeatSocket socket, const SharedKey& key, int own,
                           std::vector<Other> others, double stall_timeout_s)
    : socket_(std::move(socket)),
      key_(key),
      own_(own),
      interval_ns_(static_cast<std::int64_t>(interval_s(stall_timeout_s) * 1e9)),
      watch_(others.size(),
             static_cast<std::uint64_t>(std::ceil(stall_timeout_s / interval_s(stall_timeout_s)))),
      seen_(others.size()) {
    for (Other& other : others) {
        peers_.push_back(std::make_unique<Peer>());
        peers_.back()->member = other.member;
        peers_.back()->watched = other.watched;
        peers_.back()->reachable_at = std::move(other.reachable_at);
    }
    progress::ServiceThread::without_mpi().add(*this);
    progress::ServiceThread::without_mpi().call(*this, 0);
}

DistantBeats::~DistantBeats() {
    progress::ServiceThread::without_mpi().remove(*this);
}

std::optional<std::int64_t> DistantBeats::visit(const progress::ServiceThread&) {
    take();
    beats_.fetch_add(1, std::memory_order_relaxed);
    send();
    return interval_ns_;
}

void DistantBeats::take() {
    for (int taken = 0; taken < taken_max; ++taken) {
        Datagram datagram;
        const auto bytes = ::recv(socket_.descriptor(), &datagram, sizeof datagram, MSG_TRUNC);
        if (bytes < 0) {
            if (errno == EINTR || errno == ECONNREFUSED) {
                continue;
            }
            return;
        }
        if (bytes != sizeof datagram || datagram.beat.what != Beat{}.what ||
            crypto_auth_verify(datagram.proof.data(), bytes_of(datagram.beat), sizeof(Beat),
                               key_.data()) != 0) {
            continue;
        }
        const auto from = std::ranges::find_if(peers_, [&](const std::unique_ptr<Peer>& peer) {
            return peer->member == datagram.beat.member;
        });
        // An old one that somebody sends again is no sign of life.
        if (from != peers_.end() && datagram.beat.count > (*from)->count) {
            (*from)->count.store(datagram.beat.count, std::memory_order_relaxed);
        }
    }
}

/// To all addresses of a rank: whichever of its interfaces goes down, it is heard by another.
void DistantBeats::send() {
    Datagram datagram;
    datagram.beat.member = own_;
    datagram.beat.count = beats_.load(std::memory_order_relaxed);
    crypto_auth(datagram.proof.data(), bytes_of(datagram.beat), sizeof(Beat), key_.data());
    for (const auto& peer : peers_) {
        if (peer->forgotten.load(std::memory_order_relaxed)) {
            continue;
        }
        for (const Endpoint& endpoint : peer->reachable_at) {
            if (const auto address = address_of(endpoint, socket_.family())) {
                // One that cannot be sent is one that is lost.
                ::sendto(socket_.descriptor(), &datagram, sizeof datagram, MSG_NOSIGNAL,
                         address->get(), address->bytes);
            }
        }
    }
}

std::optional<DistantBeats::Silent> DistantBeats::look() {
    const std::uint64_t own = beats_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const Peer& peer = *peers_[i];
        const std::uint64_t count = peer.count.load(std::memory_order_relaxed);
        const bool watched =
            peer.watched && count > 0 && !peer.forgotten.load(std::memory_order_relaxed);
        seen_[i] = watched ? count : own;
    }
    const auto silent = watch_.look(own, seen_);
    if (!silent) {
        return std::nullopt;
    }
    return Silent{peers_[silent->number]->member,
                  static_cast<double>(silent->beats) * static_cast<double>(interval_ns_) * 1e-9};
}

void DistantBeats::forget(int member) {
    for (const auto& peer : peers_) {
        if (peer->member == member) {
            peer->forgotten.store(true, std::memory_order_relaxed);
        }
    }
}

std::uint64_t DistantBeats::heard(int member) const {
    for (const auto& peer : peers_) {
        if (peer->member == member) {
            return peer->count.load(std::memory_order_relaxed);
        }
    }
    return 0;
}

}  // namespace fluvial::move
