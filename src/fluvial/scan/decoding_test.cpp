// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/decoding.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::scan;

namespace {

template <class T>
T value_of(const StoredValue& stored) {
    T value;
    REQUIRE(stored.bytes.size() == sizeof value);
    std::memcpy(&value, stored.bytes.data(), sizeof value);
    return value;
}

Decoding quiet(const Attributes& attributes, DType dtype) {
    std::vector<std::string> warnings;
    const Decoding decoding = cf_decoding(attributes, dtype, "t", warnings);
    CAPTURE(warnings.size());
    CHECK(warnings.empty());
    return decoding;
}

/// The single warning.
std::string warning(const Attributes& attributes, DType dtype) {
    std::vector<std::string> warnings;
    cf_decoding(attributes, dtype, "t", warnings);
    REQUIRE(warnings.size() == 1);
    return warnings.front();
}

}  // namespace

TEST_CASE("no attributes, nothing to do") {
    const Decoding decoding = quiet({{"units", std::string("K")}}, DType::Float32);
    CHECK(!decoding.drops_values());
    CHECK(decoding.decoded(DType::Float32) == DType::Float32);
}

TEST_CASE("missing values of every kind") {
    const Decoding floats = quiet(
        {{"_FillValue", double{9.96921e36f}}, {"missing_value", std::vector<double>{1e20, NAN}}},
        DType::Float32);
    REQUIRE(floats.missing.size() == 3);
    CHECK(value_of<float>(floats.missing[0]) == 9.96921e36f);
    CHECK(value_of<float>(floats.missing[1]) == 1e20f);
    CHECK(std::isnan(value_of<float>(floats.missing[2])));
    const Decoding largest =
        quiet({{"missing_value", std::vector<double>{3.4028235e38, -3.5e38}}}, DType::Float64);
    CHECK(value_of<double>(largest.missing.at(0)) == 3.4028235e38);
    const Decoding rounded = quiet({{"missing_value", 3.4028235e38}}, DType::Float32);
    CHECK(value_of<float>(rounded.missing.at(0)) == std::numeric_limits<float>::max());
    const Decoding shorts = quiet({{"_FillValue", std::int64_t{-32768}}}, DType::Int16);
    CHECK(value_of<std::int16_t>(shorts.missing.at(0)) == -32768);
    const Decoding longs = quiet({{"_FillValue", INT64_MIN + 1}}, DType::Int64);
    CHECK(value_of<std::int64_t>(longs.missing.at(0)) == INT64_MIN + 1);
    // netCDF's default fill of uint64, 2^64 - 2, whose bits an int64 attribute keeps.
    const Decoding naturals = quiet({{"_FillValue", std::int64_t{-2}}}, DType::UInt64);
    CHECK(value_of<std::uint64_t>(naturals.missing.at(0)) == UINT64_MAX - 1);
}

TEST_CASE("missing values of float16 and complex numbers") {
    const Decoding halves = quiet(
        {{"_FillValue", -998.5}, {"missing_value", std::vector<std::int64_t>{-9}}}, DType::Float16);
    REQUIRE(halves.missing.size() == 2);
    CHECK(value_of<Half>(halves.missing[0]) == Half(-998.5f));
    CHECK(value_of<Half>(halves.missing[1]) == Half(-9.0f));
    CHECK(std::isinf(static_cast<float>(
        value_of<Half>(quiet({{"_FillValue", INFINITY}}, DType::Float16).missing.at(0)))));
    CHECK(warning({{"_FillValue", 1e20}}, DType::Float16).find("is not a value of float16") !=
          std::string::npos);

    using Complex = std::complex<float>;
    const std::vector<double> parts{-999, 1};
    const Decoding pair = quiet({{"_FillValue", parts}}, DType::Complex64);
    REQUIRE(pair.missing.size() == 1);
    CHECK(value_of<Complex>(pair.missing[0]) == Complex(-999, 1));
    const Decoding reals = quiet({{"_FillValue", 3.0}, {"missing_value", parts}}, DType::Complex64);
    REQUIRE(reals.missing.size() == 3);
    CHECK(value_of<Complex>(reals.missing[0]) == Complex(3, 0));
    CHECK(value_of<Complex>(reals.missing[1]) == Complex(-999, 0));
    CHECK(value_of<Complex>(reals.missing[2]) == Complex(1, 0));
    CHECK(warning({{"_FillValue", std::vector<double>{0, 1e300}}}, DType::Complex64) ==
          "'t': _FillValue is ignored: it is not a value of complex64");
    CHECK(warning({{"valid_min", 0.0}}, DType::Complex128) ==
          "'t': valid_min is ignored: complex numbers have no order");
}

TEST_CASE("what the dtype cannot hold is ignored with a warning") {
    CHECK(warning({{"_FillValue", double{NAN}}}, DType::Int16) ==
          "'t': _FillValue is ignored: nan is not a value of int16");
    CHECK(warning({{"missing_value", std::int64_t{40000}}}, DType::Int16) ==
          "'t': missing_value is ignored: 40000 is not a value of int16");
    CHECK(warning({{"missing_value", 1e300}}, DType::Float32) ==
          "'t': missing_value is ignored: 1e+300 is not a value of float32");
    CHECK(warning({{"missing_value", -3.4028236e38}}, DType::Float32).find("of float32") !=
          std::string::npos);
    CHECK(warning({{"missing_value", 0.5}}, DType::Int32).find("0.5 is not") != std::string::npos);
    CHECK(warning({{"_FillValue", std::string("none")}}, DType::Int8).find("not a number") !=
          std::string::npos);
    CHECK(warning({{"scale_factor", 0.0}}, DType::Int8).find("scale_factor is ignored") !=
          std::string::npos);
}

TEST_CASE("packed data becomes float64") {
    const Decoding decoding = quiet({{"scale_factor", 0.01}, {"add_offset", 273.15}}, DType::Int16);
    CHECK(decoding.packed);
    CHECK(decoding.scale == 0.01);
    CHECK(decoding.offset == 273.15);
    CHECK(decoding.decoded(DType::Int16) == DType::Float64);
    CHECK(quiet({{"scale_factor", 1.0}, {"add_offset", 0.0}}, DType::Int16).packed);
    CHECK(!quiet({{"scale_factor", 1.0}, {"add_offset", 0.0}}, DType::Float32).packed);
    CHECK(!quiet({}, DType::Int16).packed);
}

TEST_CASE("valid ranges: stored numbers, or unpacked ones for packed integers") {
    const Decoding stored =
        quiet({{"valid_range", std::vector<std::int64_t>{-100, 200}}, {"scale_factor", 0.5}},
              DType::Int16);
    CHECK(value_of<std::int16_t>(*stored.valid_min) == -100);
    CHECK(value_of<std::int16_t>(*stored.valid_max) == 200);
    const Decoding unpacked =
        quiet({{"valid_min", -1.25}, {"valid_max", 10.0}, {"scale_factor", 0.5}}, DType::Int16);
    CHECK(value_of<std::int16_t>(*unpacked.valid_min) == -2);  // -2.5 rounded inwards
    CHECK(value_of<std::int16_t>(*unpacked.valid_max) == 20);
    const Decoding falling = quiet({{"valid_max", 10.0}, {"scale_factor", -0.5}}, DType::Int16);
    CHECK(value_of<std::int16_t>(*falling.valid_min) == -20);
    CHECK(!falling.valid_max);
    const Decoding reals = quiet({{"valid_min", 0.0}}, DType::Float32);
    CHECK(value_of<float>(*reals.valid_min) == 0);
}

TEST_CASE("a packed value at its bound is inside, however it is rounded") {
    for (const double scale : {0.01, -0.01}) {
        const double offset = 273.15;
        for (int stored = -300; stored < 300; ++stored) {
            const double bound = stored * scale + offset;
            for (const char* const name : {"valid_min", "valid_max"}) {
                const Decoding decoding = quiet(
                    {{name, bound}, {"scale_factor", scale}, {"add_offset", offset}}, DType::Int16);
                const auto& found = decoding.valid_min ? decoding.valid_min : decoding.valid_max;
                CHECK(value_of<std::int16_t>(*found) == stored);
                CHECK(decoding.valid_max.has_value() ==
                      ((std::string(name) == "valid_max") == (scale > 0)));
            }
        }
    }
}

TEST_CASE("_Unsigned changes what the stored bits mean") {
    const Decoding decoding =
        quiet({{"_Unsigned", std::string("true")}, {"_FillValue", std::int64_t{-1}}}, DType::Int8);
    CHECK(decoding.stored(DType::Int8) == DType::UInt8);
    CHECK(value_of<std::uint8_t>(decoding.missing.at(0)) == 255);
    CHECK(quiet({{"_Unsigned", std::string("false")}}, DType::Int8).stored(DType::Int8) ==
          DType::Int8);
    const Decoding negative = quiet(
        {{"_Unsigned", std::string("false")}, {"_FillValue", std::int64_t{250}}}, DType::UInt8);
    CHECK(negative.stored(DType::UInt8) == DType::Int8);
    CHECK(value_of<std::int8_t>(negative.missing.at(0)) == -6);
    CHECK(quiet({}, DType::UInt8).stored(DType::UInt8) == DType::UInt8);
}
