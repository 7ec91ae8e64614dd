// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/array_view.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

const TestSeed seed(1977);

/// Memory with a view whose axes are permuted, reversed, spread out by steps and shifted.
struct Strided {
    std::vector<std::byte> memory;
    MutableArrayView view;
};

class RandomViews {
  public:
    int between(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }

    Strided next(const Coordinates& extent, DType dtype) {
        const int ndim = extent.size();
        std::vector<int> order(static_cast<std::size_t>(ndim));
        for (int i = 0; i < ndim; ++i) {
            order[static_cast<std::size_t>(i)] = i;
        }
        if (between(0, 1) == 1) {
            std::shuffle(order.begin(), order.end(), random_);
        }
        const bool packed = between(0, 2) == 0;
        Index stride = static_cast<Index>(size_of(dtype));
        Index first = 0;
        Strided made;
        made.view.dtype = dtype;
        made.view.extent = extent;
        made.view.strides = Coordinates(ndim, 0);
        for (int i = ndim - 1; i >= 0; --i) {
            const int axis = order[static_cast<std::size_t>(i)];
            stride *= packed ? 1 : between(1, 3);
            const bool reversed = !packed && between(0, 3) == 0;
            made.view.strides[axis] = reversed ? -stride : stride;
            const Index steps = std::max<Index>(extent[axis], 1);
            first += reversed ? (steps - 1) * stride : 0;
            stride *= steps;
        }
        made.memory.resize(static_cast<std::size_t>(stride));
        for (std::byte& b : made.memory) {
            b = static_cast<std::byte>(random_());
        }
        made.view.data = made.memory.data() + first;
        return made;
    }

    Coordinates extent(int ndim, int least) {
        Coordinates e(ndim, 0);
        for (Index& n : e) {
            n = between(least, 5);
        }
        return e;
    }

  private:
    std::mt19937 random_{seed};
};

/// Address of the element at `point`, by NumPy's definition.
const std::byte* element(const ArrayView& view, const Coordinates& point) {
    const std::byte* p = view.data;
    for (int axis = 0; axis < view.ndim(); ++axis) {
        p += point[axis] * view.strides[axis];
    }
    return p;
}

bool same(const std::byte* a, const std::byte* b, DType dtype) {
    return std::memcmp(a, b, size_of(dtype)) == 0;
}

}  // namespace

TEST_CASE("copy moves every element to its place, whatever the strides, and touches nothing else") {
    RandomViews views;
    for (int round = 0; round < 1500; ++round) {
        const DType dtype = dtype_from_number(views.between(0, dtype_count - 1));
        const Coordinates extent = views.extent(views.between(0, 4), round % 5 == 0 ? 0 : 1);
        Strided from = views.next(extent, dtype);
        Strided to = views.next(extent, dtype);
        CAPTURE(extent);
        CAPTURE(from.view.strides);
        CAPTURE(to.view.strides);
        std::vector<std::byte> expected = to.memory;
        const ArrayView from_view = from.view;
        for (Index i = 0; i < from_view.size(); ++i) {
            const Coordinates point = coordinates_of(i, extent);
            const auto place = element(to.view, point) - to.memory.data();
            std::memcpy(expected.data() + place, element(from_view, point), size_of(dtype));
        }
        copy(from.view, to.view);
        CHECK(to.memory == expected);
    }
}

TEST_CASE("copy repeats along strides of zero") {
    const double value = 4.25;
    std::vector<double> out(6, 0);
    copy({&value, DType::Float64, {2, 3}, {0, 0}},
         {reinterpret_cast<std::byte*>(out.data()), DType::Float64, {2, 3}, {24, 8}});
    CHECK(out == std::vector<double>(6, 4.25));
}

TEST_CASE("copy refuses arrays that do not match") {
    std::vector<float> a(6);
    const ArrayView from(a.data(), DType::Float32, {2, 3});
    auto* bytes = reinterpret_cast<std::byte*>(a.data());
    CHECK_THROWS_WITH_AS(copy(from, {bytes, DType::Int32, {2, 3}, {12, 4}}),
                         doctest::Contains("float32(2, 3) into int32"), InvalidArgument);
    CHECK_THROWS_AS(copy(from, {bytes, DType::Float32, {3, 2}, {8, 4}}), InvalidArgument);
    CHECK_THROWS_AS(copy(from, {bytes, DType::Float32, {6}, {4}}), InvalidArgument);
}

TEST_CASE("a subview shows the elements inside") {
    RandomViews views;
    for (int round = 0; round < 300; ++round) {
        const Coordinates extent = views.extent(views.between(1, 3), 1);
        const Strided array = views.next(extent, DType::Int32);
        Region inside = whole(extent);
        for (int axis = 0; axis < extent.size(); ++axis) {
            inside.offset[axis] = views.between(0, static_cast<int>(extent[axis]));
            inside.extent[axis] =
                views.between(0, static_cast<int>(extent[axis] - inside.offset[axis]));
        }
        const ArrayView part = subview(static_cast<ArrayView>(array.view), inside);
        const MutableArrayView writable = subview(array.view, inside);
        CHECK(part.extent == inside.extent);
        CHECK(writable.data == part.data);
        for (Index i = 0; i < part.size(); ++i) {
            const Coordinates point = coordinates_of(i, inside.extent);
            Coordinates outer = point;
            for (int axis = 0; axis < outer.size(); ++axis) {
                outer[axis] += inside.offset[axis];
            }
            CHECK(element(part, point) == element(array.view, outer));
        }
    }
}

TEST_CASE("every takes each step-th element, starting with the first") {
    RandomViews views;
    for (int round = 0; round < 300; ++round) {
        const Coordinates extent = views.extent(views.between(1, 3), 0);
        const Strided array = views.next(extent, DType::UInt16);
        Coordinates step(extent.size(), 1);
        for (Index& s : step) {
            s = views.between(1, 4);
        }
        const ArrayView sparse = every(array.view, step);
        for (int axis = 0; axis < extent.size(); ++axis) {
            Index count = 0;
            for (Index i = 0; i < extent[axis]; i += step[axis]) {
                ++count;
            }
            CHECK(sparse.extent[axis] == count);
        }
        for (Index i = 0; i < sparse.size(); ++i) {
            Coordinates point = coordinates_of(i, sparse.extent);
            const std::byte* address = element(sparse, point);
            for (int axis = 0; axis < point.size(); ++axis) {
                point[axis] *= step[axis];
            }
            CHECK(same(address, element(array.view, point), DType::UInt16));
            CHECK(address == element(array.view, point));
        }
    }
}

TEST_CASE("contiguous means that elements follow each other in row-major order") {
    const auto view = [](const Coordinates& extent, const Coordinates& strides) {
        return ArrayView(nullptr, DType::Float64, extent, strides);
    };
    CHECK(view({2, 3}, {24, 8}).is_contiguous());
    CHECK_FALSE(view({2, 3}, {8, 16}).is_contiguous());
    CHECK_FALSE(view({2, 3}, {32, 8}).is_contiguous());
    CHECK_FALSE(view({3}, {-8}).is_contiguous());
    CHECK_FALSE(view({3}, {0}).is_contiguous());
    CHECK(view({1, 3}, {999, 8}).is_contiguous());
    CHECK(view({0, 3}, {7, 7}).is_contiguous());
    CHECK(view({}, {}).is_contiguous());
    CHECK(contiguous_strides({2, 3, 4}, 2) == Coordinates{24, 8, 2});
    RandomViews views;
    for (int round = 0; round < 100; ++round) {
        const ArrayView packed(nullptr, DType::Int16, views.extent(views.between(0, 4), 0));
        CHECK(packed.is_contiguous());
    }
}

TEST_CASE("elements that are put lie somewhere, in this machine's byte order") {
    const double x[4] = {};
    CHECK_NOTHROW(check_copied_as_is(ArrayView(x, DType::Float64, {4}), "a"));
    CHECK_NOTHROW(check_copied_as_is(ArrayView(nullptr, DType::Float64, {0, 4}), "a"));
    CHECK_THROWS_WITH_AS(
        check_copied_as_is(ArrayView(nullptr, DType::Float64, {4}), "a"),
        doctest::Contains("the elements of 'a' are missing: got a null pointer, of shape (4,)"),
        InvalidArgument);
    CHECK_THROWS_AS(check_copied_as_is(ArrayView(nullptr, DType::Float64, {}), "a"),
                    InvalidArgument);
    ArrayView swapped(x, DType::Float64, {4});
    swapped.swapped = true;
    CHECK_THROWS_AS(check_copied_as_is(swapped, "a"), InvalidArgument);
    ArrayView strided(x, DType::Float64, {4});
    strided.strides = {};
    CHECK_THROWS_AS(check_copied_as_is(strided, "a"), InvalidArgument);
}
