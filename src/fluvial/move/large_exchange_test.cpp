// SPDX-License-Identifier: Apache-2.0
/// Messages whose bytes 31 or 32 bits cannot count, direct and by windows.
#include <array>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/large_payload_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

constexpr std::size_t gib = std::size_t{1} << 30;

/// Zeros with a number here and there, at both sides of what 31 and 32 bits can count, too.
void check_large(const route::RankFlow& flow) {
    const mpi::SparseZeros memory(world_rank() == flow.from ? flow.bytes : 1);
    const std::array<std::size_t, 6> places{0,           2 * gib - 1, 2 * gib,
                                            4 * gib - 1, 4 * gib,     flow.bytes - 1};
    const auto number_at = [](std::size_t i) { return static_cast<std::byte>(i + 1); };
    for (std::size_t i = 0; i < places.size() && world_rank() == flow.from; ++i) {
        if (places[i] < flow.bytes) {
            memory.bytes()[places[i]] = number_at(i);
        }
    }
    Outgoing outgoing;
    if (world_rank() == flow.from) {
        outgoing = {memory.bytes(), std::make_shared<int>()};  // they stay until this returns
    }
    const std::vector<route::RankFlow> flows{flow};
    const Moved moved = exchange(world(), flows, std::span(&outgoing, 1), {.checksum = true});
    if (world_rank() != flow.to) {
        return;
    }
    const Arrived& arrived = moved.arrived[0];
    REQUIRE(arrived.size == flow.bytes);
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] < flow.bytes) {
            CHECK(arrived.bytes[static_cast<std::ptrdiff_t>(places[i])] == number_at(i));
        }
    }
    std::uint64_t carried = 0;
    for (const PathUse& use : moved.used[0]) {
        carried += use.bytes;
    }
    CHECK(carried == flow.bytes);
}

}  // namespace

TEST_CASE("more than 4 GiB by windows, of which a proxy passes on some") {
    if (mpi::enough_memory(world(), 7)) {
        check_large({0, 2, 4 * gib + 5, 4 << 20, {{0, 2}, {0, 1, 2}}});
    }
}

TEST_CASE("more than 2 GiB as one message") {
    if (mpi::enough_memory(world(), 5)) {
        check_large({0, 2, 2 * gib + 7, 0, {{0, 2}}});
    }
}
