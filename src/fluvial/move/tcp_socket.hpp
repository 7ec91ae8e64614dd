// SPDX-License-Identifier: Apache-2.0
/// Connections between hosts: TCP sockets of which no call waits, but for `connect`.
///
/// Small messages leave at once (TCP_NODELAY). What was sent and is not acknowledged within the
/// time limit of `give_up_after` ends the connection, and so does silence of a host that has
/// vanished (keep-alive); a stopped process's kernel goes on acknowledging, so whether the process
/// lives is for its heartbeats to say. No program that is executed keeps a socket, nor does a child
/// by fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/host/memory_file.hpp"

namespace fluvial::move {

/// An address and a port: "10.77.0.1:40123", "[fd00::1]:40123".
struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
std::string text_of(const Endpoint& endpoint);
/// Throws InvalidArgument.
Endpoint endpoint_of(const std::string& text);

class TcpSocket {
  public:
    TcpSocket() = default;
    explicit TcpSocket(host::Descriptor descriptor);
    /// None when no listener can be reached there until `deadline`: then `why` tells the reason.
    /// Waits; a signal or Ctrl-C ends that.
    static std::optional<TcpSocket> connect(const Endpoint& to, const Deadline& deadline,
                                            std::string& why);

    /// A connection that is being made: until it stands nothing can be read or written, and what
    /// keeps it from that is the PeerLost of the read or write that learns it. Throws PeerLost.
    static TcpSocket begin(const Endpoint& to);

    /// Bytes that were there; 0: none for now. Throws PeerLost at the end of the connection.
    std::size_t read_some(std::span<std::byte> to) const;
    /// The same, into `to` and what finds no room there into `behind`, by one system call.
    std::size_t read_some(std::span<std::byte> to, std::span<std::byte> behind) const;
    /// Bytes that found room; 0: none for now. Throws PeerLost.
    std::size_t write_some(std::span<const std::byte> bytes) const;
    /// The same of several parts, one after the other, by one system call; of the first 64.
    std::size_t write_some(std::span<const std::span<const std::byte>> parts) const;
    void give_up_after(double seconds) const;
    /// Nothing more is written: the other side finds the end behind what was.
    void end_writing() const;
    /// The other side's system has all that was written, and the end.
    bool acknowledged() const;
    /// What the kernel takes a round trip for, without the queue of what comes.
    double round_trip_s() const;
    int descriptor() const { return descriptor_.get(); }
    /// The address of the other end.
    std::string peer() const;
    /// The address of this end, without the port: that of the interface by which the other is
    /// reached.
    std::string own_address() const;

  private:
    host::Descriptor descriptor_;
};

class TcpListener {
  public:
    /// Listens on each of `addresses` ("0.0.0.0" and "::" stand for all of their kind), on one port
    /// of `first` to `last` (0: any). Throws SystemError that names them.
    TcpListener(const std::vector<std::string>& addresses, std::uint16_t first, std::uint16_t last);
    std::uint16_t port() const { return port_; }
    /// A connection that waits. Throws SystemError when there is no descriptor for it.
    std::optional<TcpSocket> accept() const;
    std::vector<int> descriptors() const;

  private:
    bool listen_on(const std::vector<std::string>& addresses, std::uint16_t port);

    std::vector<host::Descriptor> listening_;
    std::uint16_t port_ = 0;
};

}  // namespace fluvial::move
