// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/write_plan.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

std::uint64_t bytes_in(const std::vector<Extent>& extents, const WriteWindow& window) {
    std::uint64_t sum = 0;
    for (const Extent& one : extents) {
        const std::uint64_t from = std::max(one.offset, window.begin);
        const std::uint64_t to = std::min(one.end(), window.end);
        sum += from < to ? to - from : 0;
    }
    return sum;
}

}  // namespace

TEST_CASE("any data: each byte is written once, by writers that have as much to do as the others") {
    std::mt19937 random(test_seed(2207));
    const auto any = [&](std::uint64_t n) { return static_cast<std::uint64_t>(random()) % n; };
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<Extent> extents;
        std::uint64_t place = any(3000), total = 0;
        for (std::uint64_t i = any(40); i-- > 0;) {
            const std::uint64_t bytes = any(5) == 0 ? any(20000) : any(50);
            extents.push_back({place, bytes, static_cast<int>(any(7))});
            total += bytes;
            place += bytes + (any(2) == 0 ? any(9000) : 0);
        }
        std::shuffle(extents.begin(), extents.end(), random);
        extents = sorted_extents(extents);
        const std::uint64_t align = 1 + any(64), window = align * (1 + any(30));
        const std::size_t writers = 1 + any(6);
        const auto windows = plan_windows(extents, writers, align, window);
        REQUIRE(windows.size() == writers);
        std::uint64_t written = 0, before = 0;
        for (const auto& of_writer : windows) {
            std::uint64_t here = 0;
            for (const WriteWindow& one : of_writer) {
                REQUIRE(one.begin >= before);
                REQUIRE(one.begin % align == 0);
                REQUIRE(one.end % align == 0);
                REQUIRE(one.end > one.begin);
                REQUIRE(one.end - one.begin <= window);
                REQUIRE(bytes_in(extents, one) > 0);
                here += bytes_in(extents, one);
                before = one.end;
            }
            // Its share, and what alignment adds.
            REQUIRE(here <= total / writers + 1 + align);
            written += here;
        }
        REQUIRE(written == total);
    }
}

TEST_CASE("the rank with most data writes for its host, then the next one of each") {
    const std::vector<std::string> hosts{"a", "a", "b", "b", "b"};
    const std::vector<Extent> extents{{0, 5, 1}, {5, 9, 4}, {20, 1, 2}};
    CHECK(choose_writers(hosts, extents, 0) == std::vector<int>{1, 4});
    CHECK(choose_writers(hosts, extents, 1) == std::vector<int>{4});
    CHECK(choose_writers(hosts, extents, 3) == std::vector<int>{1, 2, 4});
    CHECK(choose_writers(hosts, extents, 9) == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(choose_writers(hosts, {}, 0) == std::vector<int>{0, 2});
}

TEST_CASE("a byte that two ranks have is an error that names them") {
    CHECK(sorted_extents({{9, 1, 0}, {5, 0, 1}, {0, 9, 2}}).size() == 2);
    CHECK_THROWS_WITH_AS(sorted_extents({{0, 10, 3}, {9, 1, 1}}),
                         doctest::Contains("of ranks 3 and 1"), InvalidArgument);
}
