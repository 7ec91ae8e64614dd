// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/local_socket.hpp"

using namespace fluvial;
using host::LocalListener;
using host::LocalSocket;

TEST_CASE("what a peer sent before it closed arrives, at whatever moment the other looks") {
    std::atomic<int> rounds{30'000};
    const Deadline all(10);  // fewer of them where others have the cores
    LocalListener listener(text("fluvial-test-end-", ::getpid()));
    std::optional<LocalSocket> server;
    std::atomic<int> ready{0};
    std::atomic<int> lost{0};
    std::thread client([&] {
        for (int round = 1; round <= rounds; ++round) {
            LocalSocket socket = std::move(
                *LocalSocket::connect(text("fluvial-test-end-", ::getpid()), Deadline(30)));
            try {
                ready = round;
                while (!socket.take(0)) {
                }
            } catch (const PeerLost&) {
                ++lost;
            }
        }
    });
    for (int round = 1; round <= rounds; ++round) {
        while (!server) {
            server = listener.accept();
        }
        while (ready != round) {
            std::this_thread::yield();
        }
        if (all.passed()) {
            rounds = round;
        }
        server->post(Bytes(8), {});
        server->flush();
        server.reset();
    }
    client.join();
    CHECK(lost == 0);
}
