// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/byte_order.hpp"

#include <complex>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::store;

namespace {

/// What one line of elements with these bytes becomes.
std::vector<std::uint8_t> swapped(std::vector<std::uint8_t> bytes, DType dtype) {
    const auto count = static_cast<Index>(bytes.size() / size_of(dtype));
    swap_bytes({reinterpret_cast<std::byte*>(bytes.data()),
                dtype,
                {count},
                contiguous_strides({count}, size_of(dtype))});
    return bytes;
}

}  // namespace

TEST_CASE("every width, complex numbers part by part") {
    CHECK(swapped({1, 2}, DType::Int8) == std::vector<std::uint8_t>{1, 2});
    CHECK(swapped({1, 2, 3, 4}, DType::Float16) == std::vector<std::uint8_t>{2, 1, 4, 3});
    CHECK(swapped({1, 2, 3, 4}, DType::Float32) == std::vector<std::uint8_t>{4, 3, 2, 1});
    CHECK(swapped({1, 2, 3, 4, 5, 6, 7, 8}, DType::UInt64) ==
          std::vector<std::uint8_t>{8, 7, 6, 5, 4, 3, 2, 1});
    CHECK(swapped({1, 2, 3, 4, 5, 6, 7, 8}, DType::Complex64) ==
          std::vector<std::uint8_t>{4, 3, 2, 1, 8, 7, 6, 5});
    CHECK(swapped({1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18}, DType::Complex128) ==
          std::vector<std::uint8_t>{8, 7, 6, 5, 4, 3, 2, 1, 18, 17, 16, 15, 14, 13, 12, 11});
}

TEST_CASE("only the view's elements, whatever its strides") {
    std::vector<std::uint16_t> numbers(24);
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{0});
    // Columns 1 and 3 of the last two rows of 3 x 8, backwards.
    swap_bytes({reinterpret_cast<std::byte*>(&numbers[8 + 3]), DType::UInt16, {2, 2}, {16, -4}});
    for (std::uint16_t i = 0; i < 24; ++i) {
        const bool inside = i >= 8 && (i % 8 == 1 || i % 8 == 3);
        CHECK(numbers[i] == (inside ? static_cast<std::uint16_t>(i << 8) : i));
    }
    std::uint16_t scalar = 0x0102;
    swap_bytes({reinterpret_cast<std::byte*>(&scalar), DType::UInt16, {}, {}});
    CHECK(scalar == 0x0201);
    swap_bytes({nullptr, DType::UInt16, {0, 3}, {6, 2}});
}
