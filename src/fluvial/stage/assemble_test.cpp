// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/assemble.hpp"

#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using stage::assemble;
using stage::Part;

namespace {

const TestSeed seed(4711);

/// Chunks of int32 whose every element is the number of its chunk.
struct Board {
    std::vector<std::vector<std::int32_t>> memory;
    std::vector<Chunk> chunks;

    void add(const Region& region) {
        memory.emplace_back(static_cast<std::size_t>(region.volume()),
                            static_cast<std::int32_t>(chunks.size()));
        chunks.push_back(
            {region, 0, MemoryHere{reinterpret_cast<const std::byte*>(memory.back().data())}});
    }
};

}  // namespace

TEST_CASE("every element comes from the last chunk that holds it, once; or the hole is named") {
    std::mt19937 random(seed);
    const auto below = [&](Index n) {
        return static_cast<Index>(random() % static_cast<unsigned>(n));
    };
    int holes = 0;
    for (int round = 0; round < 500; ++round) {
        const int ndim = 1 + static_cast<int>(below(3));
        Coordinates shape(ndim, 0);
        for (Index& extent : shape) {
            extent = 1 + below(7);
        }
        const auto any_region = [&] {
            Region region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
            for (int axis = 0; axis < ndim; ++axis) {
                region.offset[axis] = below(shape[axis]);
                region.extent[axis] = below(shape[axis] - region.offset[axis] + 1);
            }
            return region;
        };
        Board board;
        if (below(3) > 0) {
            board.add(whole(shape));
        }
        for (Index more = below(6); more > 0; --more) {
            board.add(any_region());
        }
        const Region wanted = any_region();

        std::vector<std::int32_t> model(static_cast<std::size_t>(volume_of(shape)), -1);
        bool covered = true;
        for (Index i = 0; i < volume_of(shape); ++i) {
            for (const Chunk& chunk : board.chunks) {
                if (contains(chunk.region, coordinates_of(i, shape))) {
                    model[static_cast<std::size_t>(i)] =
                        static_cast<std::int32_t>(&chunk - board.chunks.data());
                }
            }
            covered = covered && (model[static_cast<std::size_t>(i)] >= 0 ||
                                  !contains(wanted, coordinates_of(i, shape)));
        }
        if (!covered) {
            ++holes;
            CHECK_THROWS_WITH_AS(assemble("field", board.chunks, wanted),
                                 doctest::Contains("part of 'field' was not written"), Error);
            continue;
        }
        Index elements = 0;
        for (const Part& part : assemble("field", board.chunks, wanted)) {
            CHECK(contains(wanted, part.region));
            elements += part.region.volume();
            const ArrayView view = view_of(part, DType::Int32);
            for (Index i = 0; i < part.region.volume(); ++i) {
                Coordinates at = coordinates_of(i, part.region.extent);
                Index byte = 0;
                for (int axis = 0; axis < ndim; ++axis) {
                    byte += at[axis] * view.strides[axis];
                    at[axis] += part.region.offset[axis];
                }
                std::int32_t value = 0;
                std::memcpy(&value, view.data + byte, sizeof value);
                REQUIRE(value == model[static_cast<std::size_t>(linear_index(at, shape))]);
            }
        }
        CHECK(elements == (wanted.empty() ? 0 : wanted.volume()));
    }
    CHECK(holes > 20);
}

TEST_CASE("the hole is told by its place") {
    Board board;
    board.add({{0}, {4}});
    board.add({{6}, {4}});
    CHECK_THROWS_WITH_AS(assemble("x", board.chunks, {{2}, {6}}),
                         doctest::Contains(text(Region{{4}, {2}}).c_str()), Error);
    CHECK_THROWS_AS(assemble("x", {}, {{0}, {1}}), Error);
}

TEST_CASE("an empty region asks for nothing") {
    CHECK(assemble("x", {}, {{3}, {0}}).empty());
}

TEST_CASE("a scalar is one element") {
    Board board;
    board.add(Region{});
    const auto parts = assemble("x", board.chunks, Region{});
    REQUIRE(parts.size() == 1);
    CHECK(view_of(parts[0], DType::Int32).size() == 1);
    CHECK_THROWS_AS(assemble("x", {}, Region{}), Error);
}
