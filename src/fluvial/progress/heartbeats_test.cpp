// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/heartbeats.hpp"

#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

constexpr double limit_s = 1;

}  // namespace

TEST_CASE("ranks that compute for longer than the limit are not missed, one that has left is") {
    const auto places = world().allgather([] {
        static const host::FilePlace place = own_beats_place();
        return std::as_bytes(std::span(&place, 1));
    }());
    std::vector<Heartbeats::Neighbour> neighbours;
    for (int other = 0; other < world_size(); ++other) {
        if (other == world_rank()) {
            continue;
        }
        std::memcpy(&neighbours.emplace_back(Heartbeats::Neighbour{other, {}}).beats,
                    places[static_cast<std::size_t>(other)].data(), sizeof(host::FilePlace));
    }
    auto beats = Heartbeats::begin(neighbours, limit_s);
    CHECK((beats == nullptr) == (world_size() == 1));
    bool missed = false;
    for (const Deadline end(2 * limit_s); beats && !end.passed();) {
        missed = missed || beats->look();
    }
    CHECK_FALSE(missed);
    world().barrier();
    if (world_rank() == 0) {
        beats.reset();
    }
    for (const Deadline end(20); beats && !missed;) {
        REQUIRE_FALSE(end.passed());
        const auto silent = beats->look();
        missed = silent.has_value();
        if (missed) {
            CHECK(silent->member == 0);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    world().barrier();
}
