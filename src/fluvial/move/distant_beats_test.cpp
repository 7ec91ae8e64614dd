// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/distant_beats.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

constexpr double limit_s = 0.4;

struct Pair {
    explicit Pair(const SharedKey& key_of_second = {}, bool first_only_ipv4 = false) {
        BeatSocket one("auto", {}, first_only_ipv4);
        BeatSocket two("auto", {});
        at_first = one.reachable_at();
        const auto at_second = two.reachable_at();
        first = std::make_unique<DistantBeats>(std::move(one), SharedKey{}, 1,
                                               std::vector<DistantBeats::Other>{{2, at_second}},
                                               limit_s);
        second = std::make_unique<DistantBeats>(std::move(two), key_of_second, 2,
                                                std::vector<DistantBeats::Other>{{1, at_first}},
                                                limit_s);
    }
    std::vector<Endpoint> at_first;
    std::unique_ptr<DistantBeats> first;
    std::unique_ptr<DistantBeats> second;
};

template <class Condition>
bool becomes_true(const Condition& condition) {
    for (const Deadline end(20); !end.passed();) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

void pass(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("a rank that beats is heard and not missed, and one that ends is") {
    Pair pair;
    REQUIRE(becomes_true([&] { return pair.first->heard(2) > 3 && pair.second->heard(1) > 3; }));
    CHECK_FALSE(pair.first->look());
    pair.second.reset();
    std::optional<DistantBeats::Silent> silent;
    REQUIRE(becomes_true([&] { return (silent = pair.first->look()).has_value(); }));
    CHECK(silent->member == 2);
    CHECK(silent->silent_s > limit_s);
    pair.first->forget(2);
    pass(2 * limit_s);
    CHECK_FALSE(pair.first->look());
}

TEST_CASE("a host without IPv6 hears one that has it, and is heard") {
    const Pair pair({}, true);
    CHECK(becomes_true([&] { return pair.first->heard(2) > 3 && pair.second->heard(1) > 3; }));
}

TEST_CASE("beats of somebody without the key are none, nor is what else arrives") {
    SharedKey other{};
    other.front() = 1;
    const Pair pair(other);
    const int stranger = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(stranger >= 0);
    for (const std::size_t bytes : {0, 1, 24, 56, 57, 1400}) {
        const std::vector<char> noise(bytes, 'F');
        for (const Endpoint& endpoint : pair.at_first) {
            sockaddr_in6 to{};
            to.sin6_family = AF_INET6;
            to.sin6_port = htons(endpoint.port);
            to.sin6_addr = in6addr_loopback;
            ::sendto(stranger, noise.data(), bytes, 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
        }
    }
    pass(3 * limit_s);
    ::close(stranger);
    CHECK(pair.first->heard(2) == 0);
    CHECK(pair.second->heard(1) == 0);
    // Not one was ever heard, as behind a firewall: they are not watched.
    CHECK_FALSE(pair.first->look());
}

TEST_CASE("a beat that is sent again is no sign of life") {
    const BeatSocket spare("auto", {});
    BeatSocket watching("auto", {});
    const auto at_watching = watching.reachable_at();
    // What rank 2 sends goes to a socket that nobody reads but this test, which sends it on.
    auto beating = std::make_unique<DistantBeats>(
        BeatSocket("auto", {}), SharedKey{}, 2,
        std::vector<DistantBeats::Other>{{1, spare.reachable_at()}}, limit_s);
    DistantBeats first(std::move(watching), SharedKey{}, 1, {{2, {}}}, limit_s);
    std::array<char, 256> datagram{};
    ssize_t bytes = 0;
    REQUIRE(becomes_true([&] {
        bytes = ::recv(spare.descriptor(), datagram.data(), datagram.size(), 0);
        return bytes > 0;
    }));
    beating.reset();
    const auto play_back = [&] {
        sockaddr_in6 to{};
        to.sin6_family = AF_INET6;
        to.sin6_port = htons(at_watching.front().port);
        to.sin6_addr = in6addr_loopback;
        ::sendto(spare.descriptor(), datagram.data(), static_cast<std::size_t>(bytes), 0,
                 reinterpret_cast<sockaddr*>(&to), sizeof to);
    };
    play_back();
    REQUIRE(becomes_true([&] { return first.heard(2) > 0; }));
    CHECK(becomes_true([&] {
        play_back();
        return first.look().has_value();
    }));
}

TEST_CASE("the network and the ports are those that are wanted") {
    CHECK(BeatSocket("off", {}).reachable_at().empty());
    CHECK_THROWS_AS(BeatSocket("no-such-interface", {}), InvalidArgument);
    std::optional<BeatSocket> any(std::in_place, "auto", PortRange{});
    const std::uint16_t port = any->reachable_at().front().port;
    CHECK_THROWS_WITH_AS(BeatSocket("auto", {port, port}),
                         doctest::Contains("no port is free for heartbeats"), SystemError);
    any.reset();
    CHECK(BeatSocket("auto", {port, port}).reachable_at().front().port == port);
}
