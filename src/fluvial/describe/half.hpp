// SPDX-License-Identifier: Apache-2.0
/// IEEE 754 binary16: stored and moved as it is, computed on as float.
#pragma once

#include <bit>
#include <cstdint>

namespace fluvial {

struct Half {
    std::uint16_t bits = 0;

    Half() = default;
    explicit Half(float value) : bits(from_float(value)) {}
    explicit operator float() const { return to_float(bits); }
    explicit operator double() const { return to_float(bits); }
    friend bool operator==(Half a, Half b) { return float(a) == float(b); }

  private:
    static float to_float(std::uint16_t h) {
        const std::uint32_t sign = (h & 0x8000u) << 16;
        const std::uint32_t exponent = (h >> 10) & 0x1fu;
        const std::uint32_t mantissa = h & 0x3ffu;
        if (exponent == 0x1f) {
            return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
        }
        if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
            const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
            return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
        }
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    }

    /// Round to nearest, ties to even, as the hardware does.
    static std::uint16_t from_float(float f) {
        const auto word = std::bit_cast<std::uint32_t>(f);
        const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
        const std::uint32_t magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u) {
            return sign | 0x7e00u;  // quiet NaN
        }
        if (magnitude >= 0x477ff000u) {
            return sign | 0x7c00u;  // rounds to infinity
        }
        if (magnitude < 0x38800000u) {  // subnormal half: let float addition do the rounding
            const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
            return static_cast<std::uint16_t>(
                sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
        }
        const std::uint32_t odd = (magnitude >> 13) & 1u;
        return static_cast<std::uint16_t>(sign | ((magnitude + 0xc8000fffu + odd) >> 13));
    }
};
static_assert(sizeof(Half) == 2);

}  // namespace fluvial
