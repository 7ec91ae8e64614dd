// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

constexpr double largest = std::numeric_limits<double>::max();

SketchGrid grid_of(DType dtype, Index cells_max, bool by_bits = false) {
    SketchGrid grid;
    grid.dtype = dtype;
    grid.cells_max = cells_max;
    grid.by_bits = by_bits;
    return grid;
}

/// Random numbers over a random part of what float64 can be.
class RandomNumbers {
  public:
    RandomNumbers() : random_(test_seed(1996)) {}
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    std::vector<double> some(std::size_t count) {
        const int octaves = 1 + below(2000), middle = below(2000) - 1050;
        std::vector<double> found(count);
        for (double& x : found) {
            const double mantissa = std::uniform_real_distribution<double>(-1, 1)(random_);
            x = std::ldexp(mantissa, middle + below(octaves) - octaves / 2);
            x = std::clamp(x, -largest, largest);
        }
        return found;
    }
    std::mt19937& engine() { return random_; }

  private:
    std::mt19937 random_;
};

}  // namespace

TEST_CASE("a cell is two cells of the exponent below, and its bounds are its own") {
    RandomNumbers random;
    for (const bool by_bits : {false, true}) {
        const SketchGrid grid = grid_of(DType::Float64, 1000, by_bits);
        for (int trial = 0; trial < 300; ++trial) {
            const std::vector<double> x = random.some(20);
            const auto [low, high] = std::minmax_element(x.begin(), x.end());
            const int e = grid.exponent(*low, *high);
            CHECK(grid.cell_of(*high, e) - grid.cell_of(*low, e) < 1000);
            for (const double number : x) {
                const std::int64_t cell = grid.cell_of(number, e);
                REQUIRE(grid.bounds(cell, e).contains(number));
                for (int more = 1; more < 5; ++more) {
                    REQUIRE(grid.cell_of(number, e + more) == cell >> more);
                }
            }
        }
    }
}

TEST_CASE("no exponent is larger than it has to be") {
    RandomNumbers random;
    const SketchGrid grid = grid_of(DType::Float64, 1000);
    for (int trial = 0; trial < 300; ++trial) {
        const std::vector<double> x = random.some(2);
        const double low = std::min(x[0], x[1]), high = std::max(x[0], x[1]);
        const int e = grid.exponent(low, high);
        const double far = std::max(std::abs(low), std::abs(high));
        if (e > -1074 && e > std::ilogb(far) - 52) {
            CHECK(grid.cell_of(high, e - 1) - grid.cell_of(low, e - 1) >= 1000);
        }
    }
    CHECK(grid.exponent(0, 0) == -1074);
    CHECK(grid.exponent(-largest, largest) == 1016);
    CHECK(grid.exponent(5e-324, 15e-324) == -1074);
}

TEST_CASE("bounds are numbers of the dtype") {
    const Interval whole = grid_of(DType::Int32, 10).bounds(5, 3);
    CHECK((whole.low == 40 && whole.high == 47));
    CHECK(grid_of(DType::Int64, 10).bounds(5, 0).exact());
    const Interval single = grid_of(DType::Float32, 10).bounds(1, 0);
    CHECK((single.low == 1 && single.high == static_cast<double>(std::nextafter(2.0f, 1.0f))));
    const Interval tiny = grid_of(DType::Float64, 10).bounds(-1, -1074);
    CHECK((tiny.exact() && tiny.low == -5e-324));
}

TEST_CASE("whatever the order, the split and the merges, the cells are the same") {
    RandomNumbers random;
    for (int trial = 0; trial < 100; ++trial) {
        const SketchGrid grid = grid_of(DType::Float64, 50, trial % 4 == 3);
        std::vector<double> x = random.some(10 + static_cast<std::size_t>(random.below(300)));
        QuantileSketch whole;
        const auto [low, high] = std::minmax_element(x.begin(), x.end());
        whole.add_all(x.data(), static_cast<Index>(x.size()), {*low, *high}, grid);
        std::shuffle(x.begin(), x.end(), random.engine());
        std::vector<QuantileSketch> parts(4);
        for (const double number : x) {
            parts[static_cast<std::size_t>(random.below(3))].add(number, 1, grid);
        }
        for (const std::size_t from : {2u, 3u, 1u}) {
            parts[0].merge(parts[from], grid);
        }
        whole.settle(grid);
        parts[0].settle(grid);
        std::sort(x.begin(), x.end());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const Interval here = whole.element_at(static_cast<double>(i), 0, grid);
            REQUIRE(here == parts[0].element_at(static_cast<double>(i), 0, grid));
            REQUIRE(here.contains(x[i]));
            REQUIRE((x.size() > 50 || here.exact()));
        }
    }
}
