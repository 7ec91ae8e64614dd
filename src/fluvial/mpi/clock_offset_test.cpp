// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/clock_offset.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;

namespace {

std::int64_t odd_clock() {
    return now_ns() + 1'000'000'000 * std::int64_t{world_rank()};
}

}  // namespace

TEST_CASE("clocks of other ranks are put right") {
    const std::int64_t offset = mpi::clock_offset(world(), odd_clock);
    const std::int64_t wanted = -1'000'000'000 * std::int64_t{world_rank()};
    CHECK(std::abs(offset - wanted) < 50'000'000);
    if (world_rank() == 0) {
        CHECK(offset == 0);
    }
}
