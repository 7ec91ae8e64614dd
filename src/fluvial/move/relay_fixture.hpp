// SPDX-License-Identifier: Apache-2.0
/// For tests: a thread between the ends of connections, which can hold back what goes by them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <thread>
#include <utility>

#include <poll.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

class Relay {
  public:
    explicit Relay(Endpoint to)
        : to_(std::move(to)), listener_({"127.0.0.1"}, 0, 0), thread_([this] { run(); }) {}
    ~Relay() {
        stop_ = true;
        thread_.join();
    }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    Endpoint endpoint() const { return {"127.0.0.1", listener_.port()}; }

    static constexpr std::int64_t no_limit = std::int64_t{1} << 60;
    std::atomic<int> came = 0;                  ///< connections
    std::atomic<bool> holds_first = false;      ///< nothing goes by the first connection
    std::atomic<std::int64_t> left = no_limit;  ///< bytes that may still come back by the others

  private:
    /// From one end to the other.
    struct Way {
        Bytes room = Bytes(1 << 16);
        std::span<const std::byte> held{};

        bool pass_on(const TcpSocket& from, const TcpSocket& to, std::atomic<std::int64_t>& left) {
            const auto most = std::min<std::int64_t>(std::ssize(room), left);
            if (held.empty() && most > 0) {
                const std::size_t got =
                    from.read_some(std::span(room).first(static_cast<std::size_t>(most)));
                held = std::span(room).first(got);
                left -= static_cast<std::int64_t>(got);
            }
            const std::size_t went = held.empty() ? 0 : to.write_some(held);
            held = held.subspan(went);
            return went > 0;
        }
    };
    struct Connection {
        bool first;
        TcpSocket here, there;
        Way out{}, back{};
    };

    bool pass_on(Connection& one) {
        if (one.first && holds_first) {
            return false;
        }
        const bool out = one.out.pass_on(one.here, one.there, unlimited_);
        const bool back = one.back.pass_on(one.there, one.here, one.first ? unlimited_ : left);
        return out || back;
    }
    void run() {
        while (!stop_) {
            while (auto socket = listener_.accept()) {
                connections_.push_back({came++ == 0, std::move(*socket), TcpSocket::begin(to_)});
            }
            bool moved = false;
            for (auto one = connections_.begin(); one != connections_.end();) {
                const auto connection = one++;
                try {
                    moved = pass_on(*connection) || moved;
                } catch (const PeerLost&) {  // the other end learns of it
                    connections_.erase(connection);
                }
            }
            if (!moved) {
                ::poll(nullptr, 0, 1);
            }
        }
    }

    Endpoint to_;
    std::atomic<std::int64_t> unlimited_ = no_limit;
    TcpListener listener_;
    std::list<Connection> connections_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace fluvial::move
