// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/units.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/scan/fetch.hpp"
#include "fluvial/scan/scan_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

double element(const ArrayView& view, const Coordinates& at) {
    const std::byte* data = view.data;
    for (int axis = 0; axis < at.size(); ++axis) {
        data += at[axis] * view.strides[axis];
    }
    double value;
    std::memcpy(&value, data, sizeof value);
    return view.swapped ? swap_bytes(value) : value;
}

/// One or several files along axis 0.
Input random_input(const Elements& elements, std::mt19937_64& random) {
    Input input;
    if (elements.shape.empty() || random() % 2 == 0) {
        input.parts.push_back(random_dataset(elements, random));
        return input;
    }
    const Index row = volume_of(elements.shape) / elements.shape[0];
    for (Index begin = 0; begin < elements.shape[0];) {
        Elements part{elements.shape, {}};
        part.shape[0] =
            std::min<Index>(1 + static_cast<Index>(random() % 4), elements.shape[0] - begin);
        part.values.assign(elements.values.begin() + begin * row,
                           elements.values.begin() + (begin + part.shape[0]) * row);
        begin += part.shape[0];
        input.parts.push_back(random_dataset(part, random));
    }
    return input;
}

}  // namespace

TEST_CASE("units cover every selection exactly once, and fetch what lies there") {
    const std::uint32_t seed = test_seed(20261122);
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        const Coordinates shape =
            random_extent(Coordinates(static_cast<int>(random() % 5), 9), random);
        const Elements elements = random_elements(shape, random);
        const Input input = random_input(elements, random);
        const Selection selection = random_selection(shape, random);
        const Index buffer = Index{1} << (3 + random() % 10);
        CAPTURE(round);
        CAPTURE(shape);
        const UnitGrid grid(input, selection, buffer);
        std::vector<Unit> units;
        for (Index i = 0; i < grid.size(); ++i) {
            units.push_back(grid.unit(i));
        }
        Stats stats;
        Fetch fetch(input, selection, buffer, 0, Index{1} << 22, stats);
        fetch.expect(units);
        std::vector<double> seen(static_cast<std::size_t>(volume_of(selection.count)));
        std::vector<int> times(seen.size(), 0);
        for (const Unit& unit : units) {
            const ArrayView view = fetch.fetch(unit, random() % 2 == 0);
            REQUIRE(view.extent == unit.box.extent);
            for (Index i = 0; i < unit.box.volume(); ++i) {
                const Coordinates at = coordinates_of(i, unit.box.extent);
                Coordinates own = at;
                for (int axis = 0; axis < at.size(); ++axis) {
                    own[axis] += unit.box.offset[axis];
                }
                const auto place = static_cast<std::size_t>(linear_index(own, selection.count));
                seen[place] = element(view, at);
                ++times[place];
            }
        }
        CHECK(times == std::vector<int>(times.size(), 1));
        CHECK(seen == selected(elements, selection));
    }
}

TEST_CASE("the units that hold a part of a box are found without looking at all of them") {
    const std::uint32_t seed = test_seed(20261123);
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        const Coordinates shape =
            random_extent(Coordinates(static_cast<int>(random() % 5), 9), random);
        const Input input = random_input(random_elements(shape, random), random);
        Selection covered = random_selection(shape, random);
        covered.stride = Coordinates(shape.size(), 1);
        const UnitGrid grid(input, covered, Index{1} << (3 + random() % 10));
        Region box = random_selection(shape, random).bounds();
        if (box.empty() || grid.size() == 0) {
            continue;
        }
        CAPTURE(round);
        std::vector<int> found(static_cast<std::size_t>(grid.size()), 0);
        Index before = 0;
        grid.for_runs(box, [&](Index first, Index end) {
            CHECK(first >= before);
            CHECK(end > first);
            before = end;
            std::fill(found.begin() + first, found.begin() + end, 1);
        });
        for (Index i = 0; i < grid.size(); ++i) {
            CHECK((found[static_cast<std::size_t>(i)] == 1) ==
                  intersect(grid.unit(i).box, box).has_value());
        }
    }
}

TEST_CASE("a box of a chunked dataset is gathered from the chunks that it touches") {
    std::mt19937_64 random(7);
    const Elements elements = random_elements({10, 12}, random);
    const Input input{{chunked_dataset(elements, {4, 5}, true, 0, random)}, {}};
    const Selection all = select(whole(elements.shape));
    Stats stats;
    Fetch fetch(input, all, 1024, 0, 0, stats);
    const Unit unit{0, {{2, 3}, {7, 8}}, {}};
    const ArrayView view = fetch.fetch(unit, false);
    for (Index i = 0; i < 56; ++i) {
        const Coordinates at = coordinates_of(i, {7, 8});
        CHECK(element(view, at) == elements.at({at[0] + 2, at[1] + 3}));
    }
}

TEST_CASE("a grid of many units needs no memory for them") {
    struct Huge final : store::Dataset {
        Huge() : Dataset({"h", DType::Float64, {Index{1} << 40}, {}, {}}, store::Affine{0, {8}}) {}
        const store::InputFile& bytes() const override { throw Error("not read"); }
    };
    const Input input{{std::make_shared<Huge>()}, {}};
    const UnitGrid grid(input, {{5}, {(Index{1} << 39) - 5}, {2}}, 4096);
    CHECK(grid.size() == Index{1} << 31);  // each of 256 elements, 16 bytes apart
    CHECK(grid.unit(1).box.offset[0] == grid.unit(0).box.extent[0]);
    const Unit last = grid.unit(grid.size() - 1);
    CHECK(last.box.offset[0] + last.box.extent[0] == (Index{1} << 39) - 5);
}

TEST_CASE("a stride as long as can be selects one index") {
    std::mt19937_64 random(2);
    const Elements elements = random_elements({6}, random);
    for (const DatasetPtr& data : {affine_dataset(elements, false, 0, 0),
                                   chunked_dataset(elements, {4}, false, 0, random)}) {
        const UnitGrid grid({{data}, {}}, {{2}, {1}, {INT64_MAX}}, 4096);
        REQUIRE(grid.size() == 1);
        CHECK(grid.unit(0).box == Region{{0}, {1}});
    }
}

TEST_CASE("small gaps are read over, large ones are not") {
    // Rows of 100 elements, of which 60 are wanted: the gap of 320 bytes is part of one read.
    const Packing close = pack({800, 8}, {50, 60}, 8);
    CHECK(close.spans_axis == 0);
    CHECK(close.span_bytes == 49 * 800 + 480);
    CHECK(close.buffer_bytes == close.span_bytes);
    // Rows 80,000 bytes apart: one read each, packed one behind the other on cache lines.
    const Packing apart = pack({80000, 8}, {50, 60}, 8);
    CHECK(apart.spans_axis == 1);
    CHECK(apart.span_bytes == 480);
    CHECK(apart.strides == Coordinates{512, 8});
    CHECK(apart.buffer_bytes == 50 * 512);
}

TEST_CASE("narrow rows and strides are read over their gaps, a buffer at a time") {
    std::mt19937_64 random(4);
    const Elements elements = random_elements({500, 16}, random);
    const Input input{{affine_dataset(elements, true, 0, 0)}, {}};
    for (const Selection& selection :
         {Selection{{0, 3}, {500, 2}, {1, 1}}, Selection{{1, 1}, {100, 5}, {4, 3}}}) {
        const UnitGrid grid(input, selection, 4096);
        Stats stats;
        Fetch fetch(input, selection, 4096, 0, 0, stats);
        for (Index i = 0; i < grid.size(); ++i) {
            const Unit unit = grid.unit(i);
            const ArrayView view = fetch.fetch(unit, false);
            const Coordinates first{selection.start[0] + unit.box.offset[0] * selection.stride[0],
                                    selection.start[1]};
            CHECK(element(view, {0, 0}) == elements.at(first));
        }
        CHECK(stats.reads == grid.size());
        CHECK(stats.bytes_read <= grid.size() * 4096);
        CHECK(stats.bytes_read >= (grid.size() - 1) * 3000);
    }
}

TEST_CASE("units of an affine dataset fill the buffer and are in the order of the file") {
    std::mt19937_64 random(3);
    const Elements elements = random_elements({6, 10, 16}, random);
    const Input input{{affine_dataset(elements, false, 0, 0)}, {}};
    const UnitGrid grid(input, select(whole(elements.shape)), 4 * 16 * 8);
    CHECK(grid.size() == 6 * 3);  // four rows of 16, and two at each end
    CHECK(grid.unit(0).box == Region{{0, 0, 0}, {1, 4, 16}});
    CHECK(grid.unit(2).box == Region{{0, 8, 0}, {1, 2, 16}});
    CHECK(grid.unit(3).box == Region{{1, 0, 0}, {1, 4, 16}});
}
