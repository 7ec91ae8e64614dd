// SPDX-License-Identifier: Apache-2.0
/// What each strategy promises beyond the conformance suite, on requests that can be computed by
/// hand.
#include <map>

#include <doctest/doctest.h>

#include "fluvial/distribute/metrics.hpp"
#include "fluvial/distribute/registry.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

/// Chunks of these lengths one behind the other, each of a rank of its own.
Request row(const std::vector<Index>& lengths, std::size_t readers) {
    Request request{{}, std::vector<Place>(readers), 1};
    Index begin = 0;
    for (const Index length : lengths) {
        request.chunks.push_back(
            {{{begin}, {length}}, static_cast<int>(request.chunks.size()), {}});
        begin += length;
    }
    return request;
}

std::vector<Index> shares(const Request& request, const char* strategy) {
    std::vector<Index> shares(request.readers.size(), 0);
    for (const auto& [reader, piece] : assign(request, *make_strategy(strategy)).assigned) {
        shares[static_cast<std::size_t>(reader)] += piece.region.volume();
    }
    return shares;
}

using Shares = std::vector<Index>;

Place node(const char* host) {
    return {{"host", host}};
}

}  // namespace

TEST_CASE("round-robin deals whole chunks in turn") {
    CHECK((shares(row({5, 1, 2, 3}, 3), "round-robin") == Shares{8, 1, 2}));
}

TEST_CASE("hyperslabs are equal, larger ones first, whatever the chunks are") {
    CHECK((shares(row({9, 1, 1}, 4), "hyperslabs") == Shares{3, 3, 3, 2}));
    const Request plate{{{{{0, 0}, {2, 9}}, 0, {}}}, std::vector<Place>(2), 1};
    CHECK((shares(plate, "hyperslabs") == Shares{10, 8}));
    CHECK((shares(plate, "hyperslabs(axis=0)") == Shares{9, 9}));
    CHECK((shares(plate, "hyperslabs(axis=-2)") == Shares{9, 9}));
}

TEST_CASE("cuboids have short edges") {
    const Request plate{{{{{0, 0}, {12, 8}}, 0, {}}}, std::vector<Place>(6), 1};
    const auto made = assign(plate, *make_strategy("cuboids"));
    REQUIRE(made.assigned.size() == 6);
    CHECK((made.assigned[0].piece.region == Region{{0, 0}, {4, 4}}));
    CHECK((made.assigned[5].piece.region == Region{{8, 4}, {4, 4}}));
    const auto given = assign(plate, *make_strategy("cuboids(grid=1x6)"));
    CHECK((given.assigned[0].piece.region == Region{{0, 0}, {12, 2}}));
}

TEST_CASE("next-fit can reach almost twice the fair share; cutting again stays within 1.1") {
    // Two kinds in turn, of which a bin holds one of each kind but not the next one as well.
    std::vector<Index> lengths;
    for (int i = 0; i < 16; ++i) {
        lengths.push_back(501);
        lengths.push_back(500);
    }
    const Request request = row(lengths, 16);
    const auto balance = [&](const char* strategy) {
        return metrics_of(request, assign(request, *make_strategy(strategy))).balance;
    };
    // A fair share is 1001, so pairs fit exactly; one element more in the middle upsets them all.
    CHECK(balance("binpacking") == doctest::Approx(1));
    lengths.insert(lengths.begin() + 1, 502);
    const Request upset = row(lengths, 16);
    const Metrics worse = metrics_of(upset, assign(upset, *make_strategy("binpacking")));
    CHECK(worse.balance > 1.4);
    CHECK(worse.balance <= 2.01);
    const Metrics even = metrics_of(upset, assign(upset, *make_strategy("even-binpacking")));
    CHECK(even.balance <= 1.1);
    CHECK(even.partners_max <= 4);
}

TEST_CASE("even-binpacking leaves chunks whole where their borders are near enough") {
    const Request request = row({100, 103, 97, 100}, 4);
    const auto made = assign(request, *make_strategy("even-binpacking"));
    CHECK(metrics_of(request, made).alignment == 1);
    CHECK((shares(request, "even-binpacking(tolerance=0)") == Shares{100, 100, 100, 100}));
    CHECK((shares(row({7}, 3), "even-binpacking") == Shares{2, 2, 3}));
}

TEST_CASE("blocks give consecutive source ranks to a reader") {
    const Request request = row({1, 2, 4, 8, 16}, 2);
    CHECK((shares(request, "blocks") == Shares{7, 24}));
    CHECK((shares(row({1, 2}, 4), "blocks") == Shares{1, 0, 2, 0}));
}

TEST_CASE("chunks stay on their host where a reader is; the rest goes by the fallback") {
    Request request = row({4, 4, 4, 4}, 4);
    request.readers = {node("a"), node("b"), node("a"), node("d")};
    const char* const hosts[] = {"a", "b", "c", "b"};
    for (std::size_t i = 0; i < 4; ++i) {
        request.chunks[i].place = node(hosts[i]);
    }
    const auto made = assign(request, *make_strategy("by-host(hyperslabs, fallback=round-robin)"));
    for (const auto& [reader, piece] : made.assigned) {
        if (piece.chunk != 2) {
            CHECK((request.readers[static_cast<std::size_t>(reader)] ==
                   request.chunks[piece.chunk].place));
        }
    }
    CHECK((shares(request, "by-host(hyperslabs, fallback=round-robin)") == Shares{6, 8, 2, 0}));
    CHECK((shares(request, "otherwise(by-host(hyperslabs), blocks)") == Shares{6, 8, 2, 0}));
    CHECK(metrics_of(request, made).locality == doctest::Approx(12.0 / 16));
    const auto part = assign(request, *make_strategy("by-host(hyperslabs, fallback=discard)"));
    CHECK((part.discarded == std::vector<Piece>{{{{8}, {4}}, 2}}));
}

TEST_CASE("chunks of files are near to all readers, and go to them by the strategy within") {
    Request request = row({4, 4, 4, 4}, 4);
    request.readers = {node("a"), node("b"), node("a"), node("d")};
    for (WrittenChunk& chunk : request.chunks) {
        chunk.place = anywhere();
    }
    CHECK((shares(request, "by-host(hyperslabs, fallback=discard)") == Shares{4, 4, 4, 4}));
    CHECK(
        (shares(request, "by-host(by-numa(hyperslabs), fallback=discard)") == Shares{4, 4, 4, 4}));
    CHECK((shares(request, "by-host(blocks)") == Shares{4, 4, 4, 4}));
    request.chunks[3].place = node("d");  // beside a chunk of a stream
    CHECK((shares(request, "by-host(hyperslabs, fallback=discard)") == Shares{3, 3, 3, 7}));
}

TEST_CASE("sockets of the same number on other hosts are elsewhere") {
    Request request = row({4, 4}, 2);
    request.readers = {{{"host", "a"}, {"socket", "0"}}, {{"host", "b"}, {"socket", "0"}}};
    request.chunks[0].place = request.readers[1];
    request.chunks[1].place = request.readers[0];
    const auto made = assign(request, *make_strategy("by-socket(blocks)"));
    CHECK(made.assigned[0].reader + static_cast<int>(made.assigned[0].piece.chunk) == 1);
    CHECK(metrics_of(request, made, "socket").locality == 1);
}

TEST_CASE("each line along an axis goes to one reader") {
    // Chunks that are cut along both axes, and not at the same places.
    const Request request{
        {{{{0, 0}, {5, 3}}, 0, {}}, {{{5, 0}, {3, 6}}, 1, {}}, {{{0, 3}, {5, 3}}, 2, {}}},
        std::vector<Place>(4),
        1};
    for (const char* strategy :
         {"lines(0, binpacking)", "lines(0, round-robin)", "lines(0, cuboids)"}) {
        CAPTURE(strategy);
        std::map<Index, int> reader_of;
        for (const auto& [reader, piece] : assign(request, *make_strategy(strategy)).assigned) {
            for (Index y = 0; y < piece.region.extent[1]; ++y) {
                const auto line = reader_of.emplace(piece.region.offset[1] + y, reader).first;
                CHECK(line->second == reader);
            }
        }
        CHECK(reader_of.size() == 6);
    }
}
