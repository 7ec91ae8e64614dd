// SPDX-License-Identifier: Apache-2.0
/// For tests: connections within this process, and a thread that serves a remote reader.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <poll.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/remote_read_conformance.hpp"
#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {

inline SharedKey a_key(unsigned char first = 1) {
    SharedKey key{};
    key[0] = first;
    return key;
}

/// Two ends of a connection over the loopback device.
struct Sockets {
    Sockets() : listener({"127.0.0.1"}, 0, 0) {
        std::string why;
        auto connected = TcpSocket::connect({"127.0.0.1", listener.port()}, Deadline(10), why);
        REQUIRE_MESSAGE(connected, why);
        client = std::move(*connected);
        wait_until(
            [&] {
                auto accepted = listener.accept();
                if (accepted) {
                    server = std::move(*accepted);
                }
                return accepted.has_value();
            },
            Deadline(10), "no peer connected");
    }
    TcpListener listener;
    TcpSocket client;
    TcpSocket server;
};

/// Both prove the key to each other.
inline void shake_hands(SecureConnection& a, SecureConnection& b) {
    wait_until(
        [&] {
            for (SecureConnection* one : {&a, &b}) {
                one->flush();
                if (!one->proven()) {
                    one->take();
                }
            }
            return a.proven() && b.proven();
        },
        Deadline(10), "no hand-shake");
}

struct Pair {
    explicit Pair(const SharedKey& client_key = a_key(), const SharedKey& server_key = a_key())
        : client(std::move(sockets.client), client_key, SecureConnection::Side::Client),
          server(std::move(sockets.server), server_key, SecureConnection::Side::Server) {}
    Sockets sockets;
    SecureConnection client;
    SecureConnection server;
};

inline Bytes next_message(SecureConnection& from, SecureConnection& to) {
    std::optional<Bytes> message;
    wait_until(
        [&] {
            from.flush();
            message = to.take();
            return message.has_value();
        },
        Deadline(10), "no message");
    return *message;
}

/// A thread that serves the owner's end of a reader.
struct ServingThread {
    ServingThread(std::unique_ptr<RemoteServer> owner, Exposed& memory)
        : server(std::move(owner)), thread([this, &memory] {
              try {
                  while (!stop) {
                      pollfd one{server->descriptor(),
                                 static_cast<short>(POLLIN | (server->sending() ? POLLOUT : 0)), 0};
                      ::poll(&one, 1, 10);
                      server->advance(memory);
                  }
              } catch (const PeerLost&) {
              }
          }) {}
    ~ServingThread() { end(); }
    ServingThread(const ServingThread&) = delete;
    ServingThread& operator=(const ServingThread&) = delete;
    /// As when the owner dies.
    void end() {
        if (thread.joinable()) {
            stop = true;
            thread.join();
            server.reset();
        }
    }

    std::unique_ptr<RemoteServer> server;
    std::atomic<bool> stop = false;
    std::thread thread;
};

}  // namespace fluvial::move
