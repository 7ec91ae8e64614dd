// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/index_walk.hpp"

#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

const TestSeed seed(7103);
constexpr int rounds = 500;

class RandomExtents {
  public:
    Index between(Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(random_);
    }
    Coordinates next(Index low, Index high) {
        Coordinates out(static_cast<int>(between(0, 5)), 0);
        for (Index& n : out) {
            n = between(low, high);
        }
        return out;
    }

  private:
    std::mt19937 random_{seed};
};

std::vector<Coordinates> indices_of(const Coordinates& extent) {
    std::vector<Coordinates> found;
    for_each_index(extent, [&](const Coordinates& at) { found.push_back(at); });
    return found;
}

}  // namespace

TEST_CASE("every index is visited once, in row-major order") {
    CHECK(indices_of({2, 3}) ==
          std::vector<Coordinates>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
    RandomExtents random;
    for (int round = 0; round < rounds; ++round) {
        const Coordinates extent = random.next(0, 4);
        const auto found = indices_of(extent);
        REQUIRE(static_cast<Index>(found.size()) == volume_of(extent));
        for (std::size_t i = 0; i < found.size(); ++i) {
            REQUIRE(linear_index(found[i], extent) == static_cast<Index>(i));
        }
    }
}

TEST_CASE("nothing has no index, an extent without axes has one") {
    CHECK(indices_of({2, 0, 3}).empty());
    CHECK(indices_of({}) == std::vector<Coordinates>{{}});
    int visits = 0;
    for_each_offset(Coordinates{0}.span(), [&](Index) { ++visits; }, Coordinates{8});
    CHECK(visits == 0);
    for_each_offset({}, [&](Index at) { visits += at == 0; }, Coordinates{8});
    CHECK(visits == 1);
}

TEST_CASE("a step of the walk tells the axis along which it went on") {
    IndexWalk walk(Coordinates{2, 2, 1}.span());
    CHECK(walk.next() == 1);
    CHECK(walk.at() == Coordinates{0, 1, 0});
    CHECK(walk.next() == 0);
    CHECK(walk.at() == Coordinates{1, 0, 0});
    CHECK(walk.next() == 1);
    CHECK(walk.next() == -1);
}

TEST_CASE("offsets are the sums of index times stride, with strides of any sign") {
    RandomExtents random;
    for (int round = 0; round < rounds; ++round) {
        const Coordinates extent = random.next(0, 4);
        Coordinates one(extent.size(), 0), other(extent.size(), 0);
        for (int axis = 0; axis < extent.size(); ++axis) {
            one[axis] = random.between(-50, 50);
            other[axis] = random.between(-50, 50);
        }
        const auto expected = indices_of(extent);
        std::size_t visits = 0;
        const auto visit = [&](Index a, Index b) {
            REQUIRE(a == offset_of(expected.at(visits), one));
            REQUIRE(b == offset_of(expected.at(visits), other));
            ++visits;
        };
        for_each_offset(extent.span(), visit, one, other);
        REQUIRE(visits == expected.size());
    }
}

TEST_CASE("strides that nothing goes along may be as large as a number can be") {
    constexpr Index most = std::numeric_limits<Index>::max();
    std::vector<Index> found;
    for_each_offset(
        Coordinates{1, 3}.span(), [&](Index at) { found.push_back(at); }, Coordinates{most, 5});
    CHECK(found == std::vector<Index>{0, 5, 10});
    CHECK(jumps_of(Coordinates{1, 3}.span(), Coordinates{most, -5}) == Coordinates{0, -5});
}

TEST_CASE("the first axes alone may be walked along, the others taken as a run") {
    std::vector<Index> found;
    const Coordinates extent{2, 2, 7}, strides{100, 10, 1};
    for_each_offset(extent.span().first(2), [&](Index at) { found.push_back(at); }, strides);
    CHECK(found == std::vector<Index>{0, 10, 100, 110});
}

TEST_CASE("the longest run of a view begins behind the first gap from inside") {
    const auto axes = [](const Coordinates& extent, const Coordinates& strides) {
        const ContiguousAxes found =
            contiguous_axes(ArrayView(nullptr, DType::Float64, extent, strides));
        return std::pair(found.first, found.elements);
    };
    CHECK(axes({4, 3, 2}, {48, 16, 8}) == std::pair(0, Index{24}));
    CHECK(axes({4, 3, 2}, {56, 16, 8}) == std::pair(1, Index{6}));
    CHECK(axes({4, 3, 2}, {48, 16, 16}) == std::pair(3, Index{1}));
    CHECK(axes({4, 1, 2}, {16, 999, 8}) == std::pair(0, Index{8}));
    CHECK(axes({}, {}) == std::pair(0, Index{1}));
    CHECK(axes({4, 3}, {8, 0}) == std::pair(2, Index{1}));
}

TEST_CASE("blocks make up the extent, each element once, none too large") {
    RandomExtents random;
    for (int round = 0; round < rounds; ++round) {
        const Coordinates extent = random.next(0, 5);
        Coordinates block(extent.size(), 0);
        std::vector<int> order;
        for (int axis = 0; axis < extent.size(); ++axis) {
            block[axis] = random.between(1, 6);
            order.insert(order.begin() + random.between(0, axis), axis);
        }
        std::map<Index, int> seen;
        const auto visit = [&](const Region& part) {
            REQUIRE(contains(whole(extent), part));
            for_each_index(part.extent, [&](Coordinates at) {
                for (int axis = 0; axis < at.size(); ++axis) {
                    REQUIRE(part.extent[axis] <= block[axis]);
                    at[axis] += part.offset[axis];
                }
                ++seen[linear_index(at, extent)];
            });
        };
        for_each_block(extent, block, visit, round % 2 == 0 ? order : std::vector<int>());
        REQUIRE(static_cast<Index>(seen.size()) == volume_of(extent));
        for (const auto& [at, times] : seen) {
            REQUIRE(times == 1);
        }
    }
}

TEST_CASE("blocks come in the order of the axes that is asked for") {
    std::vector<Coordinates> found;
    const auto visit = [&](const Region& part) { found.push_back(part.offset); };
    for_each_block({3, 4}, {2, 3}, visit);
    CHECK(found == std::vector<Coordinates>{{0, 0}, {0, 3}, {2, 0}, {2, 3}});
    found.clear();
    const int columns_first[] = {1, 0};
    for_each_block({3, 4}, {2, 3}, visit, columns_first);
    CHECK(found == std::vector<Coordinates>{{0, 0}, {2, 0}, {0, 3}, {2, 3}});
}
