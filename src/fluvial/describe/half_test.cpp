// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/half.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

Half of_bits(unsigned bits) {
    Half h;
    h.bits = static_cast<std::uint16_t>(bits);
    return h;
}

/// The value by the definition of binary16.
double defined_value(unsigned bits) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1f);
    const double mantissa = bits & 0x3ff;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) {
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    }
    return sign *
           (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

}  // namespace

TEST_CASE("all 65536 values mean what the standard says and survive the way to float and back") {
    int nans = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const double expected = defined_value(bits);
        const Half half = of_bits(bits);
        const Half back(float{half});
        bool right;
        if (std::isnan(expected)) {
            ++nans;
            right = std::isnan(float(half)) && std::isnan(double(half)) &&
                    std::isnan(float(back)) && (back.bits & 0x8000u) == (bits & 0x8000u);
        } else {
            right = double(half) == expected &&
                    std::signbit(float(half)) == std::signbit(expected) && back.bits == bits;
        }
        if (!right) {
            CAPTURE(bits);
            FAIL_CHECK("wrong value or round trip");
        }
    }
    CHECK(nans == 2 * 1023);
}

TEST_CASE("rounds to nearest, ties to even, on both sides of every midpoint") {
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const double low = defined_value(bits);
        // Above the largest finite value, the next one would be 65536.
        const double high = bits == 0x7bff ? 65536 : defined_value(bits + 1);
        const auto middle =
            static_cast<float>((low + high) / 2);  // exact: a float has 13 more bits
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;
        const float up = std::numeric_limits<float>::infinity();
        const bool right = Half(middle).bits == even &&
                           Half(std::nextafter(middle, 0.0f)).bits == bits &&
                           Half(std::nextafter(middle, up)).bits == bits + 1 &&
                           Half(-middle).bits == (even | 0x8000u);
        if (!right) {
            CAPTURE(bits);
            FAIL_CHECK("wrong rounding around ", middle);
        }
    }
}

TEST_CASE("rounding agrees with constants that NumPy gives") {
    // numpy.array([...], "float32").astype("float16").view("uint16")
    CHECK(Half(0.1f).bits == 0x2e66);
    CHECK(Half(1.0f / 3).bits == 0x3555);
    CHECK(Half(3.14159265f).bits == 0x4248);
    CHECK(Half(65504.0f).bits == 0x7bff);
    CHECK(Half(65519.996f).bits == 0x7bff);
    CHECK(Half(65520.0f).bits == 0x7c00);
    CHECK(Half(-1e30f).bits == 0xfc00);
    CHECK(Half(6e-8f).bits == 0x0001);
    CHECK(Half(2.9802322e-8f).bits == 0x0000);
    CHECK(Half(2.9802326e-8f).bits == 0x0001);
    CHECK(Half(6.1e-5f).bits == 0x03ff);
    CHECK(Half(-0.0f).bits == 0x8000);
    CHECK(Half(std::numeric_limits<float>::denorm_min()).bits == 0x0000);
}

#if defined(__aarch64__) || defined(__FLT16_MAX__)
#ifdef __aarch64__
using CompilersHalf = __fp16;  // GCC 12 has no _Float16 in C++ there
#else
using CompilersHalf = _Float16;
#endif

TEST_CASE("random floats round as the compiler's own type does") {
    const std::uint32_t seed = test_seed(754);
    std::mt19937 random(seed);
    int wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const auto f = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (std::isnan(f)) {
            continue;
        }
        const auto expected = std::bit_cast<std::uint16_t>(static_cast<CompilersHalf>(f));
        if (Half(f).bits != expected && wrong++ < 5) {
            CAPTURE(f);
            FAIL_CHECK("got ", Half(f).bits, ", expected ", expected);
        }
    }
    CHECK(wrong == 0);
}
#endif

TEST_CASE("equality is that of numbers") {
    CHECK(of_bits(0x0000) == of_bits(0x8000));
    CHECK_FALSE(of_bits(0x7e00) == of_bits(0x7e00));
    CHECK_FALSE(Half(1.0f) == Half(1.001f));
}
