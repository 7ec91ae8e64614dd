// SPDX-License-Identifier: Apache-2.0
// Which datasets are written together; src/fluvial/stage/file_step_shared_test.cpp writes them.
#include "fluvial/move/dataset_write.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::move;

namespace {

/// Columns of a field of doubles, `width` of them each rank.
PlacedDataset columns(Index rows, Index width, int ranks) {
    PlacedDataset made{0, {rows, width * ranks}, sizeof(double), {}};
    for (int rank = 0; rank < ranks; ++rank) {
        made.boxes.push_back({rank, {{0, width * rank}, {rows, width}}});
    }
    return made;
}

}  // namespace

TEST_CASE("ranks and hosts are counted") {
    const std::vector<std::string> hosts = {"b", "a", "b"};
    CHECK(writing_ranks(hosts).ranks == 3);
    CHECK(writing_ranks(hosts).hosts == 2);
}

TEST_CASE("small pieces of a dataset that is large enough are written together") {
    const WritingRanks here{4, 1}, apart{4, 2};
    CHECK(written_in_small_pieces(columns(40'000, 8, 4), here));
    CHECK_FALSE(written_in_small_pieces(columns(400, 8, 4), here));
    CHECK_FALSE(written_in_small_pieces(columns(4'000, 1024, 4), here));
    CHECK(written_in_small_pieces(columns(4'000, 1024, 4), apart));
    PlacedDataset rows{0, {40'000, 32}, sizeof(double), {{0, {{0, 0}, {40'000, 32}}}}};
    CHECK_FALSE(written_in_small_pieces(rows, here));
}

TEST_CASE("not among so many ranks that to count their messages takes longer") {
    CHECK(written_in_small_pieces(columns(40'000, 1, 4), {256, 1}));
    CHECK_FALSE(written_in_small_pieces(columns(40'000, 1, 4), {257, 1}));
    CHECK(written_in_small_pieces(columns(40'000, 1, 4), {4096, 16}));
    CHECK_FALSE(written_in_small_pieces(columns(40'000, 1, 4), {4096, 17}));
}
