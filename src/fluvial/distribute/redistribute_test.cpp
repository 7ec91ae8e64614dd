// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/redistribute.hpp"

#include <random>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/describe/index_walk.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

std::string refused(std::span<const Share> held, std::span<const Share> wanted) {
    try {
        transfers_between(held, wanted);
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& message, const std::string& words) {
    return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("rows to columns: each rank sends to each") {
    const std::vector<Share> rows{{0, {{0, 0}, {2, 4}}}, {1, {{2, 0}, {2, 4}}}};
    const std::vector<Share> columns{{2, {{0, 0}, {4, 3}}}, {3, {{0, 3}, {4, 1}}}};
    const auto found = transfers_between(rows, columns);
    REQUIRE(found.size() == 4);
    CHECK(found[1].held == 0);
    CHECK(found[1].wanted == 1);
    CHECK(found[1].region == Region{{0, 3}, {2, 1}});
}

TEST_CASE("what is held twice, and what is wanted but not held, is named") {
    const std::vector<Share> held{{0, {{0}, {10}}}, {2, {{10}, {5}}}};
    CHECK(says(refused(std::vector<Share>{{0, {{0}, {10}}}, {2, {{8}, {5}}}}, {}),
               "ranks 0 and 2 have the same elements: got offset (8,) extent (2,)"));
    CHECK(says(refused(std::vector<Share>{{4, {{0}, {10}}}, {4, {{9}, {5}}}}, {}),
               "rank 4 has elements twice: got offset (9,) extent (1,)"));
    const auto hole = refused(held, std::vector<Share>{{1, {{12}, {6}}}});
    CHECK(says(hole, "rank 1 wants elements that no rank has: got offset (15,) extent (3,)"));
    CHECK(says(hole, "want less"));
    CHECK(refused(held, std::vector<Share>{{1, {{3}, {12}}}, {3, {{3}, {12}}}}).empty());
    CHECK(transfers_between(held, std::vector<Share>{{1, {{50}, {0}}}}).empty());
}

TEST_CASE("an array without axes has one element") {
    const std::vector<Share> one{{0, {}}};
    CHECK(transfers_between(one, std::vector<Share>{{1, {}}, {2, {}}}).size() == 2);
    CHECK(says(refused({}, one), "no rank has"));
}

TEST_CASE("any boxes: each wanted element comes once, from the box that holds it") {
    std::mt19937 random(test_seed(2611));
    const auto any = [&](Index n) { return static_cast<Index>(random()) % n; };
    for (int trial = 0; trial < 200; ++trial) {
        // A box cut again and again, of which some parts are given away.
        const int ndim = 1 + static_cast<int>(any(3));
        Region all{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            all.extent[axis] = 1 + any(12);
        }
        std::vector<Region> boxes{all};
        for (Index cuts = any(12); cuts-- > 0;) {
            const auto at = static_cast<std::size_t>(any(static_cast<Index>(boxes.size())));
            const Region box = boxes[at];
            const auto parts = split(box, 2, static_cast<int>(any(ndim)));
            boxes[at] = parts[0];
            boxes.push_back(parts[1]);
        }
        std::vector<Share> held, wanted;
        for (const Region& box : boxes) {
            held.push_back({static_cast<int>(any(4)), box});
        }
        for (Index count = any(6); count-- > 0;) {
            Share share{static_cast<int>(any(4)), all};
            for (int axis = 0; axis < ndim; ++axis) {
                share.region.offset[axis] = any(all.extent[axis]);
                share.region.extent[axis] = any(all.extent[axis] - share.region.offset[axis] + 1);
            }
            wanted.push_back(share);
        }
        std::vector<std::vector<int>> times;
        for (const Share& share : wanted) {
            times.emplace_back(static_cast<std::size_t>(share.region.volume()), 0);
        }
        for (const Transfer& transfer : transfers_between(held, wanted)) {
            const Region& target = wanted[transfer.wanted].region;
            REQUIRE(contains(held[transfer.held].region, transfer.region));
            REQUIRE(contains(target, transfer.region));
            const Region inside = within(transfer.region, target);
            for_each_index(inside.extent, [&](const Coordinates& index) {
                Coordinates point = index;
                for (int axis = 0; axis < ndim; ++axis) {
                    point[axis] += inside.offset[axis];
                }
                const Index at = linear_index(point, target.extent);
                ++times[transfer.wanted][static_cast<std::size_t>(at)];
            });
        }
        for (const auto& of_share : times) {
            REQUIRE(std::count(of_share.begin(), of_share.end(), 1) ==
                    static_cast<std::ptrdiff_t>(of_share.size()));
        }
    }
}
