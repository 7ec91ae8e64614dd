// SPDX-License-Identifier: Apache-2.0
/// The exchange between hosts that Fluvial is held against: the bytes of each step through one TCP
/// connection that blocks, without names, shapes, a queue, or a thought of processes that die. One
/// array that is filled again as soon as it is sent stays in the processor's caches, which steps of
/// a queue cannot: the writer may go through several in turn.
#pragma once

#include <atomic>
#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "sides.hpp"

namespace bench {

class Sockets {
  public:
    Sockets(std::string address, std::size_t step_bytes, std::size_t arrays)
        : address_(std::move(address)), step_bytes_(step_bytes), arrays_(arrays) {
        port_ = shared<std::atomic<int>>();
    }
    ~Sockets() { ::munmap(port_, sizeof *port_); }
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    void open_writer() {
        take_memory(arrays_);
        const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in place = place_of(0);
        socklen_t bytes = sizeof place;
        check(::bind(listening, reinterpret_cast<sockaddr*>(&place), bytes) == 0, "bind");
        check(::listen(listening, 1) == 0, "listen");
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&place), &bytes);
        port_->store(ntohs(place.sin_port));
        socket_ = ::accept(listening, nullptr, nullptr);
        prepare();
        ::close(listening);
    }
    void open_reader() {
        take_memory(1);
        while (port_->load() == 0) {
            ::usleep(1000);
        }
        socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
        const sockaddr_in place = place_of(port_->load());
        check(::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0,
              "connect");
        prepare();
    }
    /// `fill` is called with the memory of a step.
    template <class Fill>
    void write(Fill fill) {
        double* array = memory_ + written_++ % arrays_ * (step_bytes_ / sizeof(double));
        fill(array);
        const auto* at = reinterpret_cast<const char*>(array);
        for (std::size_t left = step_bytes_; left > 0;) {
            const ssize_t sent = ::send(socket_, at, left, MSG_NOSIGNAL);
            check(sent > 0 || errno == EINTR, "send");
            at += std::max<ssize_t>(sent, 0);
            left -= static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
        }
    }
    const double* next() {
        auto* at = reinterpret_cast<char*>(memory_);
        for (std::size_t left = step_bytes_; left > 0;) {
            const ssize_t got = ::recv(socket_, at, left, MSG_WAITALL);
            check(got > 0 || (got < 0 && errno == EINTR), "recv");
            at += std::max<ssize_t>(got, 0);
            left -= static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        }
        return memory_;
    }
    void close_writer() { ::close(socket_); }
    void close_reader() { ::close(socket_); }

  private:
    static void check(bool good, const char* what) {
        if (!good) {
            fail(std::string(what) + ": " + std::strerror(errno));
        }
    }
    sockaddr_in place_of(int port) const {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(static_cast<std::uint16_t>(port));
        check(::inet_pton(AF_INET, address_.c_str(), &place.sin_addr) == 1, "address");
        return place;
    }
    void prepare() const {
        check(socket_ >= 0, "accept");
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    void take_memory(std::size_t arrays) { memory_ = shared<double>(arrays * step_bytes_); }

    std::string address_;  ///< of the writer's host
    std::size_t step_bytes_;
    std::size_t arrays_;       ///< of the writer
    std::size_t written_ = 0;  ///< steps
    std::atomic<int>* port_;
    double* memory_ = nullptr;
    int socket_ = -1;
};

}  // namespace bench
