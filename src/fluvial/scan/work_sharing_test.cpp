// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/work_sharing.hpp"

#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/scan/scan_reference.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

/// How often each unit was taken, by lanes of this rank that go on until there are no more.
std::vector<Index> taken(WorkSharing& work_sharing, std::size_t lanes, Index units) {
    std::vector<std::vector<UnitRange>> found(lanes);
    std::vector<std::thread> threads;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        threads.emplace_back([&, lane] {
            while (const auto range = work_sharing.take(lane)) {
                found[lane].push_back(*range);
                std::this_thread::yield();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::vector<Index> times(static_cast<std::size_t>(units), 0);
    for (const auto& ranges : found) {
        for (const auto& [begin, end] : ranges) {
            CHECK(end - begin >= 1);
            CHECK(end - begin <= WorkSharing::batch_max);
            for (Index unit = begin; unit < end; ++unit) {
                ++times[static_cast<std::size_t>(unit)];
            }
        }
    }
    return times;
}

}  // namespace

TEST_CASE("without help a lane does its share from the front, and no other") {
    WorkSharing work_sharing({{10, 200}, {200, 203}});
    CHECK(work_sharing.take(1, 2) == UnitRange{200, 202});
    CHECK(work_sharing.take(1, 2) == UnitRange{202, 203});
    CHECK(!work_sharing.take(1));
    CHECK(work_sharing.take(0) == UnitRange{10, 74});
    CHECK(work_sharing.take(0) == UnitRange{74, 138});
    CHECK(work_sharing.take(0) == UnitRange{138, 200});
    CHECK(!work_sharing.take(0));
}

TEST_CASE("lanes of a process do each unit once, also those of a lane that never comes") {
    for (const std::size_t lanes : {1U, 3U}) {
        WorkSharing work_sharing({{0, 500}, {500, 501}, {501, 900}});
        work_sharing.help_here();
        CHECK(taken(work_sharing, lanes, 900) == std::vector<Index>(900, 1));
    }
}

TEST_CASE("ranks of a host do each unit once, also those of a rank that never comes") {
    World world;
    const int rank = world.comm.rank(), size = world.comm.size();
    const Index each = 300, units = each * size;
    for (const bool first_comes : {true, false}) {
        WorkSharing work_sharing(
            {{each * rank, each * rank + 250}, {each * rank + 250, each * (rank + 1)}});
        work_sharing.help_on_host(world.comm);
        const bool comes = rank > 0 || first_comes || size == 1;
        std::vector<Index> times(static_cast<std::size_t>(units), 0);
        if (comes) {
            times = taken(work_sharing, 2, units);
        }
        for (Index& count : times) {
            count = -count;  // the least of all: -1 where one rank did it
        }
        const Index all = world.comm.sum(std::accumulate(times.begin(), times.end(), Index{0}));
        CHECK(all == -units);
        CHECK(world.comm.min_of_each(times) == std::vector<Index>(times.size(), -1));
        work_sharing.close();
    }
}

TEST_CASE("what a rank gives up is not done by others") {
    World world;
    const int rank = world.comm.rank(), size = world.comm.size();
    WorkSharing work_sharing({{100 * rank, 100 * (rank + 1)}});
    work_sharing.help_on_host(world.comm);
    if (rank == size - 1) {
        work_sharing.give_up();
    }
    world.comm.barrier();
    Index count = 0;
    while (const auto range = work_sharing.take(0)) {
        CHECK(range->second <= 100 * (size - 1));
        count += range->second - range->first;
    }
    CHECK(world.comm.sum(count) == 100 * (size - 1));
    work_sharing.close();
}
