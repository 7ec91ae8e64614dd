// SPDX-License-Identifier: Apache-2.0
// What ranks with selections of their own tell each other, counted.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_reference.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr Index rows_a_rank = 12, columns = 40;

/// Rows of the n-th part, and half as many of the one before.
Selection overlapping(int n) {
    const Index begin = std::max<Index>(rows_a_rank * n - rows_a_rank / 2, 0);
    return select({{begin, 0}, {rows_a_rank * (n + 1) - begin, columns}});
}

}  // namespace

TEST_CASE("a rank is told only of selections that it reads for, however many ranks there are") {
    World world;
    REQUIRE(world.comm.size() == 8);
    CAPTURE(world.seed);
    const std::vector<double> ones(columns, 1.0);
    for (const auto shuffle : {Options::Shuffle::ToAll, Options::Shuffle::ToOne}) {
        for (const bool alike : {true, false}) {
            std::map<int, Index> most, of_all;  // bytes received, by number of ranks
            for (const int ranks : {2, 4, 8}) {
                mpi::Comm comm = world.comm.split(world.comm.rank() / ranks, world.comm.rank());
                const Elements elements =
                    random_elements({rows_a_rank * ranks, columns}, world.random);
                const DatasetPtr data = affine_dataset(elements, true, 0, 0);
                Options options;
                options.shuffle = shuffle;
                options.buffer_bytes = 4096;
                options.threads = alike ? 1 : 1 + comm.rank() % 2;
                // The ranks that read a selection are not the ranks that ask for it.
                const Selection mine = overlapping((comm.rank() + 1) % ranks);
                const Outcome outcome =
                    run({{{{data}, {}}}, mine, some_operators(), {}, {{1, ones}}, {}, {}}, options,
                        comm);
                if (shuffle == Options::Shuffle::ToAll) {
                    const std::vector<double> weights(
                        static_cast<std::size_t>(volume_of(mine.count)), 1.0);
                    check_equal(outcome.groups[0],
                                in_memory(elements, mine, {}, nullptr, &weights));
                } else {
                    const Index count = rows_a_rank * ranks + rows_a_rank / 2 * (ranks - 1);
                    CHECK(*outcome.groups[0].at("count").at("value").as<Index>() ==
                          count * columns);
                }
                most[ranks] = comm.max(outcome.stats.metadata_bytes);
                of_all[ranks] = comm.sum(outcome.stats.metadata_bytes);
                comm.close();
            }
            const Index rank_request = columns * static_cast<Index>(sizeof(double));
            CHECK(of_all[2] > rank_request);  // something is told, and counted
            CHECK(most[8] <= 4 * (rank_request + 200));
            CHECK(most[8] <= most[4] + rank_request + 200);
            CHECK(of_all[8] <= 3 * of_all[4]);
        }
    }
}

TEST_CASE("ranks that ask for nothing, and files of which no rank asks for anything") {
    World world;
    const Elements elements = random_elements({20, 30}, world.random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    for (const auto shuffle : {Options::Shuffle::ToAll, Options::Shuffle::ToOne}) {
        for (const bool nobody : {false, true}) {
            Options options;
            options.shuffle = shuffle;
            options.buffer_bytes = 4096;
            const bool asks = !nobody && world.comm.rank() == 5;
            const Selection mine = select({{3, 4}, {asks ? 9 : 0, 20}});
            const Outcome outcome =
                run({{{{data}, {}}}, mine, some_operators(), {}, {}, {}, {}}, options, world.comm);
            const bool found = asks || (!nobody && shuffle == Options::Shuffle::ToOne);
            CHECK(*outcome.groups[0].at("count").at("value").as<Index>() == (found ? 180 : 0));
        }
    }
}

TEST_CASE("along kept axes there is a result of nothing, where no rank asks for anything") {
    World world;
    const Elements elements = random_elements({6, 30}, world.random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    for (const auto shuffle : {Options::Shuffle::ToAll, Options::Shuffle::ToOne}) {
        Options options;
        options.shuffle = shuffle;
        const Selection mine = select({{2, 5}, {4, 0}});
        const Outcome outcome =
            run({{{{data}, {}}}, mine, some_operators(), {1}, {}, {}, {}}, options, world.comm);
        const compute::Array& count = outcome.groups[0].at("count").at("value");
        REQUIRE(count.shape == Coordinates{4});
        CHECK(std::count(count.as<Index>(), count.as<Index>() + 4, 0) == 4);
    }
}
