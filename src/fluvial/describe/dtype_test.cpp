// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/dtype.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace fluvial;

TEST_CASE("dispatch reaches the type of every dtype") {
    std::set<DType> reached;
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        CAPTURE(name_of(dtype));
        const auto bytes = dispatch(dtype, [&]<class T>() {
            reached.insert(dtype_of<T>());
            CHECK(dtype_of<T>() == dtype);
            CHECK(is_complex(dtype) == (std::is_same_v<T, std::complex<float>> ||
                                        std::is_same_v<T, std::complex<double>>));
            CHECK(is_floating(dtype) == (std::is_floating_point_v<T> || std::is_same_v<T, Half>));
            CHECK(is_integer(dtype) == std::is_integral_v<T>);
            CHECK(is_signed_integer(dtype) == (std::is_integral_v<T> && std::is_signed_v<T>));
            return sizeof(T);
        });
        CHECK(bytes == size_of(dtype));
    }
    CHECK(reached.size() == dtype_count);
    CHECK_THROWS_WITH_AS(dispatch(static_cast<DType>(dtype_count), []<class T>() {}),
                         doctest::Contains("13"), InvalidArgument);
}

TEST_CASE("names are NumPy's and lead back to their dtype") {
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        CHECK(dtype_from_name(name_of(dtype)) == dtype);
        // NumPy ends a name with the size in bits.
        const std::string bits = std::to_string(8 * size_of(dtype));
        CHECK(std::string(name_of(dtype)).ends_with(bits));
    }
    CHECK(name_of(DType::Int8) == "int8");
    CHECK(name_of(DType::UInt64) == "uint64");
    CHECK(name_of(DType::Float16) == "float16");
    CHECK(name_of(DType::Complex128) == "complex128");
    CHECK_THROWS_WITH_AS(dtype_from_name("float128"),
                         doctest::Contains("float16, float32, float64"), InvalidArgument);
    CHECK_THROWS_AS(dtype_from_name(""), InvalidArgument);
}

TEST_CASE("numbers in the staging format never change") {
    CHECK(static_cast<int>(DType::Int8) == 0);
    CHECK(static_cast<int>(DType::UInt8) == 4);
    CHECK(static_cast<int>(DType::Float16) == 8);
    CHECK(static_cast<int>(DType::Float64) == 10);
    CHECK(static_cast<int>(DType::Complex128) == 12);
    CHECK_THROWS_AS(dtype_from_number(-1), InvalidArgument);
    CHECK_THROWS_WITH_AS(size_of(static_cast<DType>(99)), doctest::Contains("got 99"),
                         InvalidArgument);
    CHECK_THROWS_AS(name_of(static_cast<DType>(99)), InvalidArgument);
    CHECK_THROWS_WITH_AS(dtype_from_number(dtype_count), doctest::Contains("0 to 12"),
                         InvalidArgument);
}

TEST_CASE("types that alias fixed-width integers have dtypes") {
    CHECK(dtype_of<long>() == DType::Int64);
    CHECK(dtype_of<long long>() == DType::Int64);
    CHECK(dtype_of<unsigned long long>() == DType::UInt64);
    CHECK(dtype_of<short>() == DType::Int16);
    CHECK(dtype_of<unsigned char>() == DType::UInt8);
}
