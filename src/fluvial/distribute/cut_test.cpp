// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/cut.hpp"

#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/distribute/overlap.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

Index volume_of_all(const std::vector<Region>& regions) {
    Index volume = 0;
    for (const Region& region : regions) {
        volume += region.volume();
    }
    return volume;
}

Region random_region(std::mt19937& random) {
    const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    const int ndim = 1 + below(4);
    Region region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
    for (int axis = 0; axis < ndim; ++axis) {
        region.offset[axis] = below(10);
        region.extent[axis] = 1 + below(12);
    }
    return region;
}

}  // namespace

TEST_CASE("slices are no larger than asked, few, and all of the region") {
    std::mt19937 random(test_seed(1));
    for (int trial = 0; trial < 500; ++trial) {
        const Region region = random_region(random);
        const Index most = std::uniform_int_distribution<Index>(1, region.volume() + 1)(random);
        const auto slices = cut_to_size(region, most);
        CHECK(volume_of_all(slices) == region.volume());
        CHECK(overlapping(slices).empty());
        CHECK(static_cast<Index>(slices.size()) * most <= most + 3 * region.volume());
        for (const Region& slice : slices) {
            CHECK(slice.volume() <= most);
            CHECK(contains(region, slice));
        }
    }
}

TEST_CASE("what is cut off is within the window, by as few cuts as axes") {
    std::mt19937 random(test_seed(2));
    for (int trial = 0; trial < 2000; ++trial) {
        const Region region = random_region(random);
        std::uniform_int_distribution<Index> any(0, region.volume());
        Index least = any(random), most = any(random);
        if (least > most) {
            std::swap(least, most);
        }
        if (trial % 3 == 0) {
            most = least;  // exactly
        }
        const auto [first, rest] = cut_off(region, least, most);
        CHECK(volume_of_all(first) >= least);
        CHECK(volume_of_all(first) <= most);
        std::vector<Region> all = first;
        all.insert(all.end(), rest.begin(), rest.end());
        CHECK(volume_of_all(all) == region.volume());
        CHECK(overlapping(all).empty());
        CHECK(static_cast<int>(all.size()) <= 2 * region.ndim());
        for (const Region& part : all) {
            CHECK(!part.empty());
        }
    }
}
