// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/heartbeats.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

constexpr double limit_s = 1;
constexpr double never_s = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a limit that makes no sense is refused") {
    for (const double stall_timeout_s : {-1.0, 0.0, 0.1, std::nan("")}) {
        CHECK_THROWS_WITH_AS(world_channel(Role::Both, {.stall_timeout_s = stall_timeout_s}),
                             doctest::Contains("stall_timeout_s"), InvalidArgument);
    }
}

TEST_CASE("nobody beats for a channel without a limit, or for a single rank") {
    world_channel(Role::Both, {.stall_timeout_s = never_s}).close();
    CHECK(threads_named("fluvial clock") == 0);
    if (world_size() == 1) world_channel(Role::Both).close();
    CHECK(threads_named("fluvial clock") == 0);
}

TEST_CASE("one thread beats for all channels of a process") {
    Channel one = world_channel(Role::Both);
    Channel other = world_channel(Role::Both, {.stall_timeout_s = 0.5});
    CHECK(threads_named("fluvial clock") == (world_size() > 1 ? 1 : 0));
    other.close();
    one.close();
}

TEST_CASE("ranks that compute for longer than the limit are not missed, one that has left is") {
    Channel channel = world_channel(Role::Both, {.stall_timeout_s = never_s});
    std::vector<Member> members = channel.members();
    const auto places = world().allgather([] {
        static const move::FilePlace place = own_beats_place();
        return std::as_bytes(std::span(&place, 1));
    }());
    for (std::size_t i = 0; i < members.size(); ++i) {
        std::memcpy(&members[i].beats, places[i].data(), sizeof(move::FilePlace));
    }
    auto beats = Heartbeats::begin(members, channel.rank(), limit_s);
    CHECK((beats == nullptr) == (world_size() == 1));
    bool missed = false;
    for (const Deadline end(2 * limit_s); beats && !end.passed();) {
        missed = missed || beats->look();
    }
    CHECK_FALSE(missed);
    world().barrier();
    if (channel.rank() == 0) beats.reset();
    for (const Deadline end(20); beats && !missed;) {
        REQUIRE_FALSE(end.passed());
        const auto silent = beats->look();
        missed = silent.has_value();
        if (missed) CHECK(silent->member == 0);
        nap(0.01);
    }
    world().barrier();
    channel.close();
}
