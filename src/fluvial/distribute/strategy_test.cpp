// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/strategy.hpp"

#include <doctest/doctest.h>

#include "fluvial/distribute/registry.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

Distribution made(const std::vector<Region>& regions, std::size_t readers, const char* strategy) {
    Request request{{}, std::vector<Place>(readers), 1};
    for (const Region& region : regions) {
        request.chunks.push_back({region, static_cast<int>(request.chunks.size()), {}});
    }
    return assign(request, *make_strategy(strategy));
}

}  // namespace

TEST_CASE("empty chunks go to no reader, and the numbers of the others stay") {
    const auto d = made({{{0}, {0}}, {{0}, {3}}, {{5}, {0}}, {{3}, {2}}}, 2, "round-robin");
    REQUIRE(d.assigned.size() == 2);
    CHECK((d.assigned[0] == Assignment{0, {{{0}, {3}}, 1}}));
    CHECK((d.assigned[1] == Assignment{1, {{{3}, {2}}, 3}}));
}

TEST_CASE("where chunks overlap, the later one supplies the elements") {
    const auto d = made({{{0}, {4}}, {{2}, {4}}}, 1, "round-robin");
    REQUIRE(d.assigned.size() == 2);
    CHECK((d.assigned[0].piece == Piece{{{0}, {2}}, 0}));
    CHECK((d.assigned[1].piece == Piece{{{2}, {4}}, 1}));
}

TEST_CASE("requests that cannot be distributed are refused") {
    CHECK_THROWS_AS(made({{{0}, {1}}}, 0, "blocks"), InvalidArgument);
    CHECK_THROWS_WITH_AS(made({{{0}, {1}}, {{0, 0}, {1, 1}}}, 1, "blocks"),
                         doctest::Contains("chunk 1 has other dimensions"), InvalidArgument);
    CHECK_THROWS_AS(made({{{0}, {-1}}}, 1, "blocks"), InvalidArgument);
    CHECK_THROWS_AS(made({{{-1}, {1}}}, 1, "blocks"), InvalidArgument);
    const Index largest = Bounds::none;
    CHECK_THROWS_AS(made({{{1}, {largest}}}, 1, "blocks"), InvalidArgument);
    CHECK_THROWS_AS(made({{{0, 0}, {1, largest}}, {{1, 0}, {1, largest}}}, 1, "blocks"),
                    InvalidArgument);
    CHECK_THROWS_AS(made({{{0}, {1}}}, 1, "hyperslabs(axis=1)"), InvalidArgument);
    CHECK_THROWS_AS(made({{{0}, {1}}}, 3, "cuboids(grid=2)"), InvalidArgument);
}

TEST_CASE("what is left is an error that names it, unless it is discarded on purpose") {
    CHECK_THROWS_WITH_AS(
        made({{{0}, {4}}}, 2, "by-host(binpacking)"),
        "the strategy by-host(binpacking) leaves elements without a reader: got 4 elements in 1 "
        "pieces, the first at offset (0,) extent (4,) of rank 0 (place: unknown); allowed: a "
        "reader for each element. Name a fallback, as in by-host(binpacking, fallback=hyperslabs), "
        "or fallback=discard to do without them",
        Error);
    CHECK_THROWS_AS(made({{{0}, {4}}}, 2, "by-host(binpacking, fallback=fail)"), Error);
    const auto d = made({{{0}, {4}}}, 2, "by-host(binpacking, fallback=discard)");
    CHECK(d.assigned.empty());
    CHECK((d.discarded == std::vector<Piece>{{{{0}, {4}}, 0}}));
}
