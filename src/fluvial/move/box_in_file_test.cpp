// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/box_in_file.hpp"

#include <cstddef>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/describe/index_walk.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

/// The places of all bytes of a box, one by one.
std::vector<std::uint64_t> places_of(std::uint64_t begin, const Coordinates& shape,
                                     std::size_t element_bytes, const Region& box) {
    std::vector<std::uint64_t> places;
    for_each_index(box.extent, [&](const Coordinates& at) {
        Coordinates point = box.offset;
        for (int axis = 0; axis < point.size(); ++axis) {
            point[axis] += at[axis];
        }
        const auto element = static_cast<std::uint64_t>(linear_index(point, shape));
        for (std::size_t byte = 0; byte < element_bytes; ++byte) {
            places.push_back(begin + element * element_bytes + byte);
        }
    });
    return places;
}

}  // namespace

TEST_CASE("any box: its bytes lie where its elements do, and are counted before any place") {
    std::mt19937 random(test_seed(1410));
    const auto any = [&](Index n) { return static_cast<Index>(random()) % n; };
    for (int trial = 0; trial < 2000; ++trial) {
        Coordinates shape(static_cast<int>(any(5)), 1);
        Region box{shape, shape};
        for (int axis = 0; axis < shape.size(); ++axis) {
            shape[axis] = 1 + any(6);
            const bool all = any(3) == 0;
            box.offset[axis] = all ? 0 : any(shape[axis]);
            box.extent[axis] = all ? shape[axis] : any(shape[axis] - box.offset[axis] + 1);
        }
        const auto begin = static_cast<std::uint64_t>(any(100));
        const std::size_t element_bytes = std::size_t{1} << any(4);
        const auto places = places_of(begin, shape, element_bytes, box);
        const BoxInFile found(begin, shape, element_bytes, box);
        REQUIRE(found.bytes() == places.size());
        for (std::uint64_t place = 0; place < begin + 40; ++place) {
            const auto before = std::ranges::lower_bound(places, place) - places.begin();
            REQUIRE(found.before(place) == static_cast<std::uint64_t>(before));
        }
        if (!places.empty()) {
            REQUIRE(found.first() == places.front());
            REQUIRE(found.end() == places.back() + 1);
        }
        REQUIRE(found.before(~std::uint64_t{0}) == places.size());
        const auto first = static_cast<std::uint64_t>(any(static_cast<Index>(places.size()) + 1));
        const auto last =
            first + static_cast<std::uint64_t>(any(static_cast<Index>(places.size() - first) + 1));
        std::vector<std::uint64_t> visited;
        found.each_piece(first, last, [&](std::uint64_t place, std::uint64_t bytes) {
            REQUIRE(bytes > 0);
            for (; bytes > 0; --bytes) {
                visited.push_back(place++);
            }
        });
        if (first < last) {
            const bool together = visited.back() - visited.front() + 1 == visited.size();
            const auto place = found.place_of_one(first, last);
            REQUIRE((!place || (together && *place == visited.front())));
        }
        REQUIRE(visited ==
                std::vector<std::uint64_t>(places.begin() + static_cast<std::ptrdiff_t>(first),
                                           places.begin() + static_cast<std::ptrdiff_t>(last)));
    }
}

TEST_CASE("pieces are counted by what lies apart") {
    CHECK(BoxInFile(0, {8, 6}, 8, {{2, 0}, {3, 6}}).pieces() == 1);
    CHECK(BoxInFile(0, {8, 6}, 8, {{0, 1}, {8, 2}}).pieces() == 8);
    CHECK(BoxInFile(0, {4, 8, 6}, 8, {{0, 1, 0}, {4, 2, 6}}).pieces() == 4);
    CHECK(BoxInFile(0, {4, 8, 6}, 8, {{0, 1, 0}, {0, 2, 6}}).pieces() == 0);
    CHECK(BoxInFile(0, {}, 8, {{}, {}}).pieces() == 1);
    const BoxInFile columns(0, {8, 6}, 8, {{0, 1}, {8, 2}});
    CHECK(columns.place_of_one(16, 32) == 56);
    CHECK(columns.place_of_one(15, 17) == std::nullopt);
}
