// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/overlap.hpp"

#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

std::vector<Region> random_regions(std::mt19937& random, int count, int ndim, Index edge) {
    std::vector<Region> regions;
    const auto below = [&](Index n) {
        return std::uniform_int_distribution<Index>(0, n - 1)(random);
    };
    for (int i = 0; i < count; ++i) {
        Region region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            region.offset[axis] = below(edge);
            region.extent[axis] = below(edge / 3);
        }
        regions.push_back(region);
    }
    return regions;
}

}  // namespace

TEST_CASE("overlaps are those that comparing all pairs finds") {
    std::mt19937 random(test_seed(5));
    for (int trial = 0; trial < 200; ++trial) {
        const auto regions = random_regions(random, 10 + trial, 1 + trial % 3, 30);
        std::vector<std::pair<std::size_t, std::size_t>> expected;
        for (std::size_t a = 0; a < regions.size(); ++a) {
            for (std::size_t b = a + 1; b < regions.size(); ++b) {
                if (intersect(regions[a], regions[b])) {
                    expected.emplace_back(a, b);
                }
            }
        }
        CHECK((overlapping(regions) == expected));
    }
}

TEST_CASE("of overlapping regions the last one keeps the elements") {
    std::mt19937 random(test_seed(6));
    for (int trial = 0; trial < 100; ++trial) {
        auto regions = random_regions(random, 1 + trial / 3, 2, 20);
        regions.push_back(regions.front());  // put twice
        const auto parts = last_written(regions);
        REQUIRE(parts.size() == regions.size());
        for (Index x = 0; x < 30; ++x) {
            for (Index y = 0; y < 30; ++y) {
                std::size_t last = regions.size(), holder = regions.size();
                int times = 0;
                for (std::size_t i = 0; i < regions.size(); ++i) {
                    last = contains(regions[i], {x, y}) ? i : last;
                    for (const Region& part : parts[i]) {
                        if (contains(part, {x, y})) {
                            ++times;
                            holder = i;
                        }
                    }
                }
                REQUIRE(holder == last);
                REQUIRE(times <= 1);
            }
        }
    }
}

TEST_CASE("numbers without dimensions overlap: the last one counts") {
    const std::vector<Region> numbers(20000, Region{});
    const auto parts = last_written(numbers);
    CHECK(parts.front().empty());
    CHECK(parts.back().size() == 1);
}
