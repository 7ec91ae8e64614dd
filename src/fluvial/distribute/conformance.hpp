// SPDX-License-Identifier: Apache-2.0
/// What every strategy must pass: each element once and only once, its own bounds, the same result
/// for the same request, on sizes that are chosen to be awkward and on random ones. The registry's
/// strategies are run through it by conformance_test.cpp; use it for your own, too (needs doctest).
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

struct ConformanceOptions {
    bool complete = true;  ///< each element gets a reader
    int ndim_min = 0;
    int trials = 80;  ///< random ones
};

class Conformance {
  public:
    Conformance(const Strategy& strategy, std::uint32_t seed)
        : strategy_(strategy), random_(seed) {}

    void run(const ConformanceOptions& options) {
        options_ = options;
        CAPTURE(strategy_.describe());
        look_at("no chunk", {{}, readers(3), 4});
        if (options_.ndim_min == 0) {
            look_at("a number", {{{Region{}, 7, place()}}, readers(3), 8});
        }
        look_at("one huge chunk", {{written({{0, 5}, {3, Index{1} << 60}}, 0)}, readers(7), 2});
        look_at("a chunk at the end of the axis",
                {{written({{Bounds::none - 5}, {5}}, 0)}, readers(3), 1});
        look_at("more readers than elements", {{written({{0}, {5}}, 0)}, readers(64), 8});
        look_at("more readers than chunks",
                {{written({{0, 0}, {5, 7}}, 0), written({{5, 0}, {1, 7}}, 1)}, readers(40), 8});
        look_at("as many dimensions as there may be", {cube(ndim_max, 2, 4), readers(5), 8});
        look_at("10 000 chunks of one element", {ones(10000), readers(512), 8});
        look_at("primes", {cube(2, 31, 2), readers(13), 1});
        for (int trial = 0; trial < options_.trials; ++trial) {
            CAPTURE(trial);
            look_at("random", random_request());
        }
    }

  private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

    /// Of a host with two sockets of two NUMA nodes; now and then unknown.
    Place place() {
        const int host = below(6);
        if (host == 5) {
            return {};
        }
        return {{"host", text("node", host)}, {"socket", text(below(2))}, {"numa", text(below(2))}};
    }
    std::vector<Place> readers(int count) {
        std::vector<Place> places;
        for (int i = 0; i < count; ++i) {
            places.push_back(place());
        }
        return places;
    }
    WrittenChunk written(const Region& region, int rank) { return {region, rank, place()}; }

    /// A cube of this edge, halved along its first axes into 2^cuts chunks.
    std::vector<WrittenChunk> cube(int ndim, Index edge, int cuts) {
        std::vector<Region> regions = {whole(Coordinates(ndim, edge))};
        for (int axis = 0; axis < std::min(ndim, cuts); ++axis) {
            std::vector<Region> halves;
            for (const Region& region : regions) {
                for (const Region& half : split(region, 2, axis)) {
                    halves.push_back(half);
                }
            }
            regions = std::move(halves);
        }
        return chunks_of(regions);
    }
    std::vector<WrittenChunk> ones(Index count) {
        std::vector<Region> regions;
        for (Index i = 0; i < count; ++i) {
            regions.push_back({{i / 100, i % 100}, {1, 1}});
        }
        return chunks_of(regions);
    }
    std::vector<WrittenChunk> chunks_of(const std::vector<Region>& regions) {
        std::vector<WrittenChunk> chunks;
        for (const Region& region : regions) {
            if (!region.empty()) {
                chunks.push_back(written(region, static_cast<int>(chunks.size()) / 2));
            }
        }
        return chunks;
    }

    /// Boxes that a box was cut into at random, some missing, in any order.
    Request random_request() {
        const int ndim = std::max(options_.ndim_min, 1) + below(4);
        Coordinates shape(ndim, 1), corner(ndim, 0);
        for (int axis = 0; axis < ndim; ++axis) {
            shape[axis] = 1 + below(std::vector<int>{400, 60, 14, 8, 6, 5}[axis + (ndim > 2)]);
            corner[axis] = below(50);
        }
        std::vector<Region> regions = {{corner, shape}};
        for (int cuts = below(40); cuts > 0; --cuts) {
            const auto number = static_cast<std::size_t>(below(static_cast<int>(regions.size())));
            const int axis = below(ndim);
            Region& before = regions[number];
            const Index at = below(static_cast<int>(before.extent[axis]) + 1);
            Region behind = before;
            behind.offset[axis] += at;
            behind.extent[axis] -= at;
            before.extent[axis] = at;
            regions.push_back(behind);
            if (below(10) == 0) {
                std::fill(regions[number].extent.begin(), regions[number].extent.end(), 0);
            }
        }
        std::shuffle(regions.begin(), regions.end(), random_);
        std::vector<WrittenChunk> chunks = chunks_of(regions);
        for (WrittenChunk& chunk : chunks) {
            chunk.rank = below(10);
        }
        return {std::move(chunks), readers(1 + below(below(4) == 0 ? 70 : 9)),
                static_cast<std::size_t>(1 + below(16))};
    }

    void look_at(const std::string& what, const Request& request) {
        CAPTURE(what);
        CAPTURE(request.readers.size());
        CAPTURE(request.chunks.size());
        const Distribution made = strategy_.assign(request);
        CHECK((strategy_.assign(request) == made));
        if (options_.complete) {
            CHECK(made.left.empty());
            CHECK(made.discarded.empty());
        }
        look_at_bounds(request, made);
        if (elements_of(request) < 200000) {
            count_each(request, made);
        }
        if (made.left.empty()) {
            // Checks for itself that every piece is in its chunk, and none twice or missing.
            CHECK_NOTHROW(distribute::assign(request, strategy_));
        }
    }

    void look_at_bounds(const Request& request, const Distribution& made) {
        const Bounds bounds = strategy_.bounds(request);
        std::map<int, Index> elements;
        std::map<int, std::set<int>> partners;
        for (const auto& [reader, piece] : made.assigned) {
            REQUIRE(reader >= 0);
            REQUIRE(reader < static_cast<int>(request.readers.size()));
            REQUIRE(piece.chunk < request.chunks.size());
            CHECK(!piece.region.empty());
            elements[reader] += piece.region.volume();
            partners[reader].insert(request.chunks[piece.chunk].rank);
        }
        CHECK(static_cast<Index>(made.assigned.size()) <= bounds.pieces_max);
        for (const auto& of_reader : elements) {
            const int reader = of_reader.first;
            CAPTURE(reader);
            CHECK(of_reader.second <= bounds.elements_max);
            CHECK(static_cast<Index>(partners[reader].size()) <= bounds.partners_max);
        }
    }

    /// Element by element, without any algebra of regions.
    void count_each(const Request& request, const Distribution& made) {
        std::map<std::size_t, std::vector<int>> times;  // of each chunk
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            times[i].assign(static_cast<std::size_t>(request.chunks[i].region.volume()), 0);
        }
        const auto count = [&](const Piece& piece) {
            const Region& chunk = request.chunks[piece.chunk].region;
            REQUIRE(contains(chunk, piece.region));
            for (Index k = 0; k < piece.region.volume(); ++k) {
                Coordinates point = coordinates_of(k, piece.region.extent);
                for (int axis = 0; axis < point.size(); ++axis) {
                    point[axis] += piece.region.offset[axis] - chunk.offset[axis];
                }
                ++times[piece.chunk][static_cast<std::size_t>(linear_index(point, chunk.extent))];
            }
        };
        for (const Assignment& assignment : made.assigned) {
            count(assignment.piece);
        }
        std::for_each(made.left.begin(), made.left.end(), count);
        std::for_each(made.discarded.begin(), made.discarded.end(), count);
        for (const auto& of_chunk : times) {
            const std::size_t chunk = of_chunk.first;
            const std::vector<int>& counts = of_chunk.second;
            CAPTURE(chunk);
            CHECK(std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; }));
        }
    }

    const Strategy& strategy_;
    std::mt19937 random_;
    ConformanceOptions options_;
};

}  // namespace fluvial::distribute
