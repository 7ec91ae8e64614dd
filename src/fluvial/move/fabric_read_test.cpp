// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/fabric_read.hpp"

#include <optional>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/connection_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

const TestSeed seed(2717);
constexpr std::size_t region_bytes = 20'000'000;
constexpr const char* loopback = "127.0.0.1";

/// A reader and its owner, by a provider that each machine has.
struct Served {
    Served() : memory(3, region_bytes) {
        Pair pair;
        shake_hands(pair.client, pair.server);
        auto half = open_fabric("", loopback);
        provider = half->provider();
        serving.emplace(serve_fabric(std::move(pair.server), provider), memory);
        reader = std::move(*half).connect(std::move(pair.client), Deadline(30));
    }
    KnownMemory memory;
    std::string provider;
    std::optional<ServingThread> serving;
    std::unique_ptr<RemoteReader> reader;
};

}  // namespace

TEST_CASE("libfabric reads what is exposed, as every transport") {
    Served served;
    CHECK(served.reader->transport() == "libfabric " + served.provider);
    check_remote_reads(*served.reader, seed, 3, region_bytes);
    check_a_large_read(*served.reader, region_bytes);
    check_refusals(*served.reader);
}

TEST_CASE("several readers of one owner share its endpoint") {
    Served one;
    Served two;
    std::thread other([&] { check_remote_reads(*one.reader, seed + 1, 3, region_bytes); });
    check_remote_reads(*two.reader, seed + 2, 3, region_bytes);
    other.join();
}

TEST_CASE("a reader whose owner has gone is told so by the connection, then and later") {
    Served served;
    served.serving->end();
    std::byte one{};
    const RemoteBox box{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    CHECK_THROWS_AS(served.reader->read(std::span(&box, 1), ignore_silence), PeerLost);
    CHECK_THROWS_AS(served.reader->read(std::span(&box, 1), ignore_silence), PeerLost);
}

TEST_CASE("what the wait looks for ends a read, and the reader") {
    Served served;
    served.serving->stop = true;  // it answers nothing, and does not go
    served.serving->thread.join();
    std::byte one{};
    const RemoteBox box{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    const auto look = [](double) { throw PeerLost("no heartbeat"); };
    CHECK_THROWS_WITH_AS(served.reader->read(std::span(&box, 1), look), "no heartbeat", PeerLost);
    CHECK_THROWS_AS(served.reader->read(std::span(&box, 1), ignore_silence), PeerLost);
}

TEST_CASE("a provider that is not there is an error that names those that are") {
    CHECK_THROWS_WITH_AS(open_fabric("carrier-pigeon", loopback), doctest::Contains("'tcp"),
                         SystemError);
    CHECK_THROWS_WITH_AS(open_fabric("", "192.0.2.254"), doctest::Contains("192.0.2.254"),
                         SystemError);
    Pair pair;
    shake_hands(pair.client, pair.server);
    auto half = open_fabric("", loopback);
    CHECK_THROWS_WITH_AS(serve_fabric(std::move(pair.server), "carrier-pigeon"),
                         doctest::Contains("'carrier-pigeon'"), SystemError);
    CHECK_THROWS_WITH_AS(std::move(*half).connect(std::move(pair.client), Deadline(30)),
                         doctest::Contains("'carrier-pigeon'"), SystemError);
}
