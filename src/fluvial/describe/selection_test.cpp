// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/selection.hpp"

#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

const TestSeed seed(6021);
constexpr int rounds = 3000;

/// Along one axis: the selected positions, by counting.
std::vector<Index> positions(const Selection& s, int axis) {
    std::vector<Index> out;
    for (Index i = 0; i < s.count[axis]; ++i) {
        out.push_back(s.start[axis] + i * s.stride[axis]);
    }
    return out;
}

class RandomSelections {
  public:
    Index between(Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(random_);
    }
    Selection next(int ndim) {
        Selection s{Coordinates(ndim, 0), Coordinates(ndim, 0), Coordinates(ndim, 1)};
        for (int axis = 0; axis < ndim; ++axis) {
            s.start[axis] = between(0, 6);
            s.count[axis] = between(0, 5);
            s.stride[axis] = between(1, 4);
        }
        return s;
    }
    Region region(int ndim) {
        Region r{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            r.offset[axis] = between(0, 20);
            r.extent[axis] = between(0, 9);
        }
        return r;
    }

  private:
    std::mt19937 random_{seed};
};

}  // namespace

TEST_CASE("bounds are the smallest region that holds all that is selected") {
    RandomSelections random;
    for (int round = 0; round < rounds; ++round) {
        const Selection s = random.next(static_cast<int>(random.between(0, 4)));
        const Region bounds = s.bounds();
        for (int axis = 0; axis < s.ndim(); ++axis) {
            const auto all = positions(s, axis);
            CHECK(bounds.offset[axis] == s.start[axis]);
            CHECK(bounds.extent[axis] == (all.empty() ? 0 : all.back() - all.front() + 1));
        }
    }
}

TEST_CASE("what is selected within a region is what counting finds there") {
    RandomSelections random;
    int none = 0;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = static_cast<int>(random.between(1, 3));
        const Selection s = random.next(ndim);
        const Region region = random.region(ndim);
        const auto inside = selected_within(s, region);
        bool any = true;
        std::vector<std::vector<Index>> expected;
        for (int axis = 0; axis < ndim; ++axis) {
            expected.emplace_back();
            const auto all = positions(s, axis);
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (all[i] >= region.offset[axis] &&
                    all[i] < region.offset[axis] + region.extent[axis]) {
                    expected.back().push_back(static_cast<Index>(i));
                }
            }
            any = any && !expected.back().empty();
        }
        REQUIRE(inside.has_value() == any);
        none += any ? 0 : 1;
        for (int axis = 0; any && axis < ndim; ++axis) {
            const auto& wanted = expected[static_cast<std::size_t>(axis)];
            CHECK(inside->offset[axis] == wanted.front());
            CHECK(inside->extent[axis] == static_cast<Index>(wanted.size()));
        }
    }
    CHECK(none > rounds / 20);
    CHECK(none < rounds);
}

TEST_CASE("a selection is inside a shape when each of its elements is") {
    RandomSelections random;
    for (int round = 0; round < rounds; ++round) {
        const int ndim = static_cast<int>(random.between(1, 3));
        const Selection s = random.next(ndim);
        Coordinates shape(ndim, 0);
        bool fits = true;
        bool empty = false;
        for (int axis = 0; axis < ndim; ++axis) {
            shape[axis] = random.between(0, 18);
            for (const Index position : positions(s, axis)) {
                fits = fits && position < shape[axis];
            }
            // An empty selection may begin at most at the end.
            fits = fits && s.start[axis] <= shape[axis];
            empty = empty || s.count[axis] == 0;
        }
        if (fits) {
            CHECK_NOTHROW(check_inside(s, shape, "selection"));
        } else {
            CHECK_THROWS_AS(check_inside(s, shape, "selection"), InvalidArgument);
        }
    }
}

TEST_CASE("what cannot be selected is named with the axis") {
    const Coordinates shape{4, 6};
    CHECK_THROWS_WITH_AS(check_inside(Selection{{0, 0}, {1, 1}, {1, 0}}, shape, "selection of 'x'"),
                         doctest::Contains("selection of 'x': cannot select along axis 1"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(
        check_inside(Selection{{0, 0}, {-1, 1}, {1, 1}}, shape, "selection of 'x'"),
        doctest::Contains("axis 0: got count -1"), InvalidArgument);
    CHECK_THROWS_AS(check_inside(Selection{{0}, {1}, {1, 1}}, shape, "s"), InvalidArgument);
    CHECK_THROWS_AS(check_inside(Selection{{0}, {1}, {1}}, shape, "s"), InvalidArgument);
    CHECK_THROWS_AS(check_inside(Selection{{-1, 0}, {1, 1}, {1, 1}}, shape, "s"), InvalidArgument);
    // The distance to the last element does not fit in 64 bits.
    CHECK_THROWS_AS(check_inside(Selection{{0, 0}, {Index{1} << 62, 1}, {4, 1}}, shape, "s"),
                    InvalidArgument);
}

TEST_CASE("every element of a region, and of no dimension at all") {
    const Region region{{2, 3}, {4, 5}};
    CHECK(select(region).bounds() == region);
    CHECK(select(region).is_dense());
    CHECK_FALSE(Selection{{0}, {2}, {2}}.is_dense());
    const Selection point = select(whole(Coordinates{}));
    CHECK(point.ndim() == 0);
    CHECK_NOTHROW(check_inside(point, Coordinates{}, "point"));
    CHECK(selected_within(point, whole(Coordinates{})).has_value());
}
