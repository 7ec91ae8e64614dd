// SPDX-License-Identifier: Apache-2.0
/// Windows that a receive brings although they are not of its exchange.
#include "fluvial/move/path_window.hpp"

#include <cstring>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/path_roles.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

constexpr std::uint32_t now = 7, before = 6;
constexpr std::size_t window_bytes = 8;

/// A message with all of a flow, as another rank would send it.
std::shared_ptr<std::vector<std::byte>> message_of(std::uint32_t exchange) {
    const WindowHeader header(0, window_bytes, exchange);
    auto message =
        std::make_shared<std::vector<std::byte>>(sizeof header + window_bytes, std::byte{42});
    std::memcpy(message->data(), &header, sizeof header);
    return message;
}

/// The roles of this rank for a flow that comes to it from itself, as if that were another.
struct Receiving {
    void send(std::uint32_t exchange) {
        const auto message = message_of(exchange);
        mpi::Request request = world().isend(*message, message, world_rank(), 0);
        wait_until([&] { return request.test(); }, Deadline(10), "MPI did not send");
    }
    /// Until something comes.
    static void hear(Role& role) {
        wait_until([&] { return role.step(); }, Deadline(10), "no window came");
    }

    route::RankFlow flow{world_rank(),
                         world_rank(),
                         window_bytes,
                         window_bytes,
                         {{world_rank(), world_rank(), world_rank()}}};
    std::vector<PathUse> used{1};
    FlowPart part{.comm = world(), .flow = flow, .exchange = now, .used = &used};
    std::array<std::byte, window_bytes> memory{};
};

}  // namespace

TEST_CASE("a window of an earlier exchange is no data of this one") {
    Receiving receiving;
    const auto role = window_destination_of(receiving.part, {0}, 1, receiving.memory.data());
    receiving.send(now);
    Receiving::hear(*role);
    CHECK(receiving.memory.back() == std::byte{42});
    receiving.memory = {};
    receiving.send(before);
    CHECK_THROWS_WITH_AS(Receiving::hear(*role),
                         doctest::Contains("a window of another exchange has come: got 6"), Error);
    CHECK(receiving.memory.back() == std::byte{0});
    CHECK(receiving.used.front().bytes == window_bytes);
}

TEST_CASE("a proxy does not pass it on") {
    Receiving receiving;
    const auto role = proxy_of(receiving.part, 0, 0, world_rank(), 1, {});
    receiving.send(before);
    CHECK_THROWS_WITH_AS(Receiving::hear(*role),
                         doctest::Contains("a window of another exchange has come: got 6"), Error);
}

TEST_CASE("a window is as long as its header says") {
    const auto message = message_of(now);
    CHECK(window_in(*message, now).bytes.size() == window_bytes);
    for (const std::size_t bytes :
         {std::size_t{0}, sizeof(WindowHeader) - 1, message->size() - 1}) {
        CHECK_THROWS_WITH_AS(window_in(std::span(*message).first(bytes), now),
                             doctest::Contains("another length"), Error);
    }
}
