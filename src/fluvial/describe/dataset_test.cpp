// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/dataset.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

TEST_CASE("63 bits count the bytes of a dataset") {
    constexpr Index large = Index{1} << 31;
    CHECK_NOTHROW(check_size("x", DType::Float64, {}));
    CHECK_NOTHROW(check_size("x", DType::UInt8, {large, large}));
    CHECK_NOTHROW(check_size("x", DType::UInt8, {large, 2 * large - 1}));
    CHECK_NOTHROW(check_size("x", DType::Float64, {large, large, large, 0}));
    CHECK_THROWS_WITH_AS(check_size("x", DType::UInt8, {large, 2 * large}),
                         doctest::Contains("'x' is too large: got shape (2147483648, 4294967296) "
                                           "of uint8; allowed: at most 9223372036854775807 bytes"),
                         InvalidArgument);
    CHECK_THROWS_AS(check_size("x", DType::Int16, {large, large}), InvalidArgument);
    CHECK_THROWS_AS(check_size("x", DType::UInt8, {2 * large, 2 * large}), InvalidArgument);
}

TEST_CASE("a dataset has a name that files have") {
    for (const char* const name : {"x", "meshes/E/x", "a.b/..c", " ", "é"}) {
        CHECK_NOTHROW(check_dataset_name(name));
    }
    for (const char* const name : {"", "/", "/x", "x/", "a//b", ".", "./x", "a/./b", "a/."}) {
        CAPTURE(name);
        CHECK_THROWS_WITH_AS(check_dataset_name(name),
                             doctest::Contains("words with single slashes between them"),
                             InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(check_dataset_name(std::string_view("a\0b", 3)),
                         doctest::Contains("has a NUL"), InvalidArgument);
}
