// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/fabric_read.hpp"

#include <optional>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/connection_fixture.hpp"
#include "fluvial/move/fabric_endpoint.hpp"
#include "fluvial/move/remote_request.hpp"

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
        reader = std::move(*half).connect(std::move(pair.client), Deadline(30), 10);
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

TEST_CASE("a read for which the provider gets no connection is an error that names the address") {
    // Of a port whose queue is full, which answers nothing.
    const int full = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    REQUIRE(::bind(full, address, bytes) == 0);
    REQUIRE(::listen(full, 0) == 0);
    REQUIRE(::getsockname(full, address, &bytes) == 0);
    std::vector<TcpSocket> queued;
    for (int i = 0; i < 4; ++i) {
        queued.push_back(TcpSocket::begin({loopback, ntohs(place.sin_port)}));
    }
    Pair pair;
    shake_hands(pair.client, pair.server);
    std::thread owner([&] {
        ByteWriter out;
        put_granted(out);
        out.put_block(&place, sizeof place);
        pair.server.post(out.view());
        pair.server.flush();
        next_message(pair.server, pair.server);
        out.clear();
        put_granted(out);
        out.put_vector(std::vector<FabricPlace>{{0, 1}});
        pair.server.post(out.view());
        pair.server.flush();
    });
    const auto reader = std::move(*open_fabric("tcp;ofi_rxm", loopback))
                            .connect(std::move(pair.client), Deadline(30), 0.3);
    std::byte one{};
    const RemoteBox box{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    const Deadline deadline(20);
    const auto look = [&](double) { REQUIRE_FALSE(deadline.passed()); };
    CHECK_THROWS_WITH_AS(reader->read(std::span(&box, 1), look),
                         doctest::Contains(text(ntohs(place.sin_port)).c_str()), SystemError);
    owner.join();
    ::close(full);
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
    CHECK_THROWS_WITH_AS(std::move(*half).connect(std::move(pair.client), Deadline(30), 10),
                         doctest::Contains("'carrier-pigeon'"), SystemError);
}
