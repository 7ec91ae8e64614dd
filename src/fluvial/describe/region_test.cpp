// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/region.hpp"

#include <limits>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

const TestSeed seed(1848);
constexpr int rounds = 400;

/// All points of a region, by counting rather than by the code under test.
std::vector<std::vector<Index>> points_of(const Region& region) {
    std::vector<std::vector<Index>> points = {{}};
    for (int axis = 0; axis < region.ndim(); ++axis) {
        std::vector<std::vector<Index>> longer;
        for (const auto& point : points) {
            for (Index i = 0; i < region.extent[axis]; ++i) {
                longer.push_back(point);
                longer.back().push_back(region.offset[axis] + i);
            }
        }
        points = std::move(longer);
    }
    return points;
}

/// How often each point occurs in the regions.
std::map<std::vector<Index>, int> cover(const std::vector<Region>& regions) {
    std::map<std::vector<Index>, int> count;
    for (const Region& region : regions) {
        for (const auto& point : points_of(region)) {
            ++count[point];
        }
    }
    return count;
}

bool is_in(const std::vector<Index>& point, const Region& region) {
    for (int axis = 0; axis < region.ndim(); ++axis) {
        const Index i = point[static_cast<std::size_t>(axis)] - region.offset[axis];
        if (i < 0 || i >= region.extent[axis]) {
            return false;
        }
    }
    return true;
}

class RandomRegions {
  public:
    int between(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }
    Region next(int ndim) {
        Region region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            region.offset[axis] = between(0, 4);
            region.extent[axis] = between(0, 5);
        }
        return region;
    }

  private:
    std::mt19937 random_{seed};
};

}  // namespace

TEST_CASE("a region within another is counted from the first element of the other") {
    CHECK(within({{5, 7}, {2, 3}}, {{4, 7}, {9, 9}}) == Region{{1, 0}, {2, 3}});
    CHECK(within({{}, {}}, {{}, {}}) == Region{});
}

TEST_CASE("intersect keeps exactly the common points") {
    RandomRegions regions;
    int disjoint = 0;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = regions.between(0, 4);
        const Region a = regions.next(ndim);
        const Region b = regions.next(ndim);
        CAPTURE(a);
        CAPTURE(b);
        std::vector<std::vector<Index>> expected;
        for (const auto& point : points_of(a)) {
            if (is_in(point, b)) {
                expected.push_back(point);
            }
        }
        const auto common = intersect(a, b);
        CHECK(common.has_value() == !expected.empty());
        disjoint += !common.has_value();
        if (common) {
            CHECK(points_of(*common) == expected);
            CHECK(common == intersect(b, a));
        }
    }
    CHECK(disjoint > rounds / 10);
    CHECK(disjoint < rounds);
}

TEST_CASE("subtract leaves exactly the other points, once each, in few regions") {
    RandomRegions regions;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = regions.between(1, 4);
        const Region from = regions.next(ndim);
        const Region hole = regions.next(ndim);
        CAPTURE(from);
        CAPTURE(hole);
        const auto pieces = subtract(from, hole);
        CHECK(pieces.size() <= 2 * static_cast<std::size_t>(ndim));
        for (const Region& piece : pieces) {
            CHECK_FALSE(piece.empty());
        }
        std::map<std::vector<Index>, int> expected;
        for (const auto& point : points_of(from)) {
            if (!is_in(point, hole)) {
                expected[point] = 1;
            }
        }
        CHECK(cover(pieces) == expected);
    }
}

TEST_CASE("split cuts into parts that cover the region once and differ by at most one") {
    RandomRegions regions;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = regions.between(1, 3);
        const Region region = regions.next(ndim);
        const int parts = regions.between(1, 8);
        const int axis = regions.between(0, ndim - 1);
        CAPTURE(region);
        CAPTURE(parts);
        const auto pieces = split(region, parts, axis);
        REQUIRE(pieces.size() == static_cast<std::size_t>(parts));
        CHECK(cover(pieces) == cover({region}));
        Index next = region.offset[axis];
        for (const Region& piece : pieces) {
            CHECK(piece.offset[axis] == next);
            next += piece.extent[axis];
            CHECK(piece.extent[axis] <= pieces.front().extent[axis]);
            CHECK(piece.extent[axis] >= pieces.front().extent[axis] - 1);
        }
    }
    CHECK(split(whole({}), 3) == std::vector<Region>{whole({})});
    CHECK_THROWS_AS(split(whole({4}), 0), InvalidArgument);
    CHECK_THROWS_AS(split(whole({4}), 2, 1), InvalidArgument);
    CHECK_THROWS_AS(split(whole({4}), 2, -1), InvalidArgument);
}

TEST_CASE("linear index counts the points in row-major order, and back") {
    RandomRegions regions;
    for (int round = 0; round < rounds; ++round) {
        const Coordinates shape = regions.next(regions.between(0, 4)).extent;
        CAPTURE(shape);
        Index expected = 0;
        for (const auto& point : points_of(whole(shape))) {
            const Coordinates at{std::span<const Index>(point)};
            CHECK(linear_index(at, shape) == expected);
            CHECK(coordinates_of(expected, shape) == at);
            ++expected;
        }
        CHECK(expected == whole(shape).volume());
    }
    const Coordinates large{3'000'000'000, 3'000'000'000};
    CHECK(linear_index({2'999'999'999, 7}, large) == 8'999'999'997'000'000'007);
    CHECK(coordinates_of(8'999'999'997'000'000'007, large) == Coordinates{2'999'999'999, 7});
}

TEST_CASE("contains agrees with its points") {
    RandomRegions regions;
    int inside = 0;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = regions.between(1, 3);
        const Region outer = regions.next(ndim);
        Region inner = regions.next(ndim);
        for (Index& n : inner.extent) {
            n = n % 2 + 1;
        }
        bool all = true;
        for (const auto& point : points_of(inner)) {
            all = all && is_in(point, outer);
            CHECK(contains(outer, Coordinates(std::span<const Index>(point))) ==
                  is_in(point, outer));
        }
        CHECK(contains(outer, inner) == all);
        inside += all;
    }
    CHECK(inside > rounds / 50);
    CHECK_FALSE(contains(whole({2, 2}), whole({2})));
}

TEST_CASE("volumes count elements and refuse what 64 bits cannot count") {
    CHECK(volume_of({}) == 1);
    CHECK(volume_of({2, 3, 4}) == 24);
    CHECK(volume_of({2, 0, 4}) == 0);
    const Index huge = std::numeric_limits<Index>::max();
    CHECK(volume_of({huge}) == huge);
    CHECK(volume_of({huge, huge, 0}) == 0);
    CHECK_THROWS_WITH_AS(volume_of({huge, 2}), doctest::Contains("fewer than 2^63"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(volume_of({3, -1}), doctest::Contains("(3, -1)"), InvalidArgument);
    CHECK_THROWS_AS(volume_of({0, -1}), InvalidArgument);
}

TEST_CASE("check_inside accepts what fits and names what does not") {
    const Coordinates shape{10, 4};
    CHECK_NOTHROW(check_inside({{0, 0}, {10, 4}}, shape, "chunk"));
    CHECK_NOTHROW(check_inside({{10, 4}, {0, 0}}, shape, "chunk"));
    const Index huge = std::numeric_limits<Index>::max();
    const Region bad[] = {{{7, 0}, {4, 1}}, {{-1, 0}, {1, 1}},   {{0, 0}, {1, -1}},
                          {{0, 5}, {1, 0}}, {{1, 0}, {huge, 1}}, {{0}, {1}}};
    for (const Region& region : bad) {
        CAPTURE(region);
        CHECK_THROWS_WITH_AS(check_inside(region, shape, "chunk of 'x'"),
                             doctest::Contains("chunk of 'x'"), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(check_inside({{0, 3}, {1, 2}}, shape, "chunk"),
                         doctest::Contains("axis 1"), InvalidArgument);
}

TEST_CASE("coordinates hold up to 16 axes") {
    Coordinates c;
    for (Index i = 0; i < ndim_max; ++i) {
        c.push_back(i * i);
    }
    CHECK(c.size() == ndim_max);
    CHECK(c[15] == 225);
    CHECK(c == Coordinates(c.span()));
    CHECK_FALSE(c == Coordinates(ndim_max, 0));
    CHECK_THROWS_WITH_AS(c.push_back(1), doctest::Contains("17"), InvalidArgument);
    CHECK(text(Coordinates{1, 2}) == "(1, 2)");
    CHECK(text(Coordinates{3}) == "(3,)");
}
