// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/regular_grid.hpp"

#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;

using Numbers = std::vector<double>;

TEST_CASE("positions on a grid are those of the first attributes that say them of each axis") {
    const Attributes grid = {{"gridSpacing", Numbers{0.5, 2.0}},
                             {"gridGlobalOffset", Numbers{1.0, 100.0}}};
    const Attributes component = {{"position", Numbers{0.5, 0.0}}};
    CHECK(positions_along(0, {3, 2}, {component, grid}) == Numbers{1.25, 1.75, 2.25});
    CHECK(positions_along(1, {3, 2}, {component, grid}) == Numbers{100, 102});
    CHECK(positions_along(1, {3, 2}, {{{"gridSpacing", Numbers{1, 1}}}, grid}) ==
          Numbers{100, 101});
    CHECK(positions_along(0, {3}, {{{"gridSpacing", std::int64_t{2}}}}) == Numbers{0, 2, 4});
    CHECK(positions_along(0, {0}, {{{"gridSpacing", 1.0}}}) == Numbers{});
}

TEST_CASE("in Fortran's order attributes count axes from the last") {
    const Attributes grid = {{"gridSpacing", Numbers{0.5, 2.0}}, {"dataOrder", std::string("F")}};
    CHECK(positions_along(0, {3, 2}, {grid}) == Numbers{0, 2, 4});
    CHECK(positions_along(1, {3, 2}, {grid}) == Numbers{0, 0.5});
}

TEST_CASE("without a finite spacing of each axis there is no grid") {
    CHECK_FALSE(positions_along(0, {3}, {}));
    CHECK_FALSE(positions_along(0, {3, 2}, {{{"gridSpacing", 1.0}}}));
    CHECK_FALSE(positions_along(0, {3}, {{{"gridSpacing", std::string("1")}}}));
    CHECK_FALSE(
        positions_along(0, {3}, {{{"gridSpacing", std::numeric_limits<double>::infinity()}}}));
}
