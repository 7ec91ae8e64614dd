// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/datatype.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/array_view.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

/// The int32 elements of `from` that `type` selects, in order, by way of MPI_Pack.
std::vector<std::int32_t> packed(const std::vector<std::int32_t>& from, const Datatype& type) {
    std::vector<std::int32_t> result(static_cast<std::size_t>(type.size()) / sizeof(std::int32_t));
    if (result.empty()) {
        return result;
    }
    const int bytes = static_cast<int>(type.size());
    int position = 0;
    MPI_Pack(from.data(), 1, type.handle(), result.data(), bytes, &position, MPI_COMM_SELF);
    CHECK(position == bytes);
    return result;
}

}  // namespace

TEST_CASE("every dtype has an MPI type of its size") {
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        CAPTURE(name_of(dtype));
        const Datatype type = Datatype::of(dtype);
        CHECK(type.size() == static_cast<Index>(size_of(dtype)));
        CHECK(type.extent() == static_cast<Index>(size_of(dtype)));
    }
    CHECK(Datatype::of(DType::Float64).handle() == MPI_DOUBLE);
}

TEST_CASE("counts past 2^31 are composed exactly") {
    const Datatype real = Datatype::of(DType::Float64);
    constexpr Index limit = Index{1} << 31;
    for (const Index count : {Index{0}, Index{1}, limit - 1, limit, limit + 1, 3 * limit + 12345,
                              Index{1} << 40, (Index{1} << 50) + 7}) {
        CAPTURE(count);
        CHECK(Datatype::payload(count).size() == count);
        CHECK(Datatype::payload(count).extent() == count);
        const Datatype reals = Datatype::contiguous(count, real);
        CHECK(reals.size() == 8 * count);
        CHECK(reals.extent() == 8 * count);
        const Payload payload(count);
        CHECK(payload.count * payload.type.size() == count);
    }
    CHECK_THROWS_WITH_AS(
        Datatype::payload(-1),
        "the count of a contiguous datatype is negative: got -1; allowed: 0 or more",
        InvalidArgument);
    const Datatype wide = Datatype::vector(limit + 1, 2, 5, real);
    CHECK(wide.size() == 16 * (limit + 1));
    CHECK(wide.extent() == 40 * (limit + 1));
    const Datatype plane = Datatype::subarray({limit + 5, 3}, {{limit, 1}, {4, 2}}, real);
    CHECK(plane.size() == 8 * 8);
    CHECK(plane.extent() == 24 * (limit + 5));
}

TEST_CASE("a vector takes blocks at a stride") {
    std::vector<std::int32_t> numbers(12);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Datatype type = Datatype::vector(3, 2, 4, Datatype::of(DType::Int32));
    CHECK(packed(numbers, type) == std::vector<std::int32_t>{0, 1, 4, 5, 8, 9});
    CHECK(type.extent() == 12 * 4);
    CHECK_THROWS_WITH_AS(Datatype::vector(3, 2, 1, Datatype::of(DType::Int32)),
                         doctest::Contains("overlap"), InvalidArgument);
}

TEST_CASE("a subarray takes what a strided copy of the region takes") {
    const Coordinates shape{3, 4, 5};
    std::vector<std::int32_t> numbers(60);
    std::iota(numbers.begin(), numbers.end(), 0);
    const ArrayView array(numbers.data(), DType::Int32, shape);
    for (const Region& region : {Region{{0, 0, 0}, {3, 4, 5}}, Region{{1, 2, 3}, {2, 2, 2}},
                                 Region{{2, 0, 4}, {1, 4, 1}}, Region{{1, 1, 1}, {0, 2, 2}}}) {
        CAPTURE(region);
        const Datatype type = Datatype::subarray(shape, region, Datatype::of(DType::Int32));
        CHECK(type.extent() == 60 * 4);
        std::vector<std::int32_t> expected(static_cast<std::size_t>(region.volume()));
        copy(subview(array, region),
             MutableArrayView{reinterpret_cast<std::byte*>(expected.data()), DType::Int32,
                              region.extent, contiguous_strides(region.extent, 4)});
        CHECK(packed(numbers, type) == expected);
    }
    CHECK_THROWS_AS(Datatype::subarray(shape, {{0, 0, 4}, {1, 1, 2}}, Datatype::of(DType::Int32)),
                    InvalidArgument);
    CHECK(Datatype::subarray({}, {}, Datatype::of(DType::Int32)).size() == 4);
}

TEST_CASE("datatypes move, and temporaries are freed") {
    Datatype type = Datatype::payload(100);
    const MPI_Datatype handle = type.handle();
    Datatype moved = std::move(type);
    CHECK(moved.handle() == handle);
    CHECK(type.handle() == MPI_DATATYPE_NULL);
    moved = Datatype::payload(7);
    CHECK(moved.size() == 7);
    for (int i = 0; i < 20'000; ++i) {
        if (Datatype::payload((Index{1} << 31) + i).size() != (Index{1} << 31) + i) {
            FAIL("wrong size in round ", i);
        }
    }
}
