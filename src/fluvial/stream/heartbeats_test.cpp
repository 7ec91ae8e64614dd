// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/heartbeats.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a limit that makes no sense is refused") {
    for (const double stall_timeout_s : {-1.0, 0.0, 0.1, std::nan("")}) {
        CHECK_THROWS_WITH_AS(world_channel(Role::Both, {.stall_timeout_s = stall_timeout_s}),
                             doctest::Contains("stall_timeout_s"), InvalidArgument);
    }
}

TEST_CASE("no thread beats for a channel without a limit, or for a single rank") {
    world_channel(Role::Both, {.stall_timeout_s = never_s}).close();
    CHECK(threads_named("fluvial beats") == 0);
    if (world_size() == 1) {
        world_channel(Role::Both).close();
    }
    CHECK(threads_named("fluvial beats") == 0);
}

TEST_CASE("one thread beats for all channels of a process") {
    Channel one = world_channel(Role::Both);
    Channel other = world_channel(Role::Both, {.stall_timeout_s = 0.5});
    CHECK(threads_named("fluvial beats") == (world_size() > 1 ? 1 : 0));
    other.close();
    one.close();
}
