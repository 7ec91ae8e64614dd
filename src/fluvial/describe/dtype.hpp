// SPDX-License-Identifier: Apache-2.0
/// Element types, with NumPy's names, and the one place where a run-time dtype becomes a C++ type.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/half.hpp"

namespace fluvial {

/// The order is part of the staging format: append only.
enum class DType : std::uint8_t {
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
};

inline constexpr int dtype_count = 13;

/// Bytes of one element.
std::size_t size_of(DType dtype);
/// NumPy's name, e.g. "float32".
std::string_view name_of(DType dtype);
/// The inverse of name_of. Throws InvalidArgument that lists the names.
DType dtype_from_name(std::string_view name);
/// The dtype with this number in the staging format. Throws InvalidArgument when there is none.
DType dtype_from_number(int number);

constexpr bool is_signed_integer(DType d) {
    return d <= DType::Int64;
}
constexpr bool is_integer(DType d) {
    return d <= DType::UInt64;
}
constexpr bool is_floating(DType d) {
    return d >= DType::Float16 && d <= DType::Float64;
}
constexpr bool is_complex(DType d) {
    return d >= DType::Complex64;
}

template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, Half>) {
        return DType::Float16;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
        return DType::Complex64;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        return DType::Complex128;
    } else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "long double has no portable dtype");
        return sizeof(T) == 4 ? DType::Float32 : DType::Float64;
    } else {
        static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "no dtype for this type");
        constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return static_cast<DType>((std::is_signed_v<T> ? 0 : 4) + log2);
    }
}

/// Calls `f.template operator()<T>()` with the C++ type of `dtype` and returns what it returns.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
    switch (dtype) {
        case DType::Int8:
            return f.template operator()<std::int8_t>();
        case DType::Int16:
            return f.template operator()<std::int16_t>();
        case DType::Int32:
            return f.template operator()<std::int32_t>();
        case DType::Int64:
            return f.template operator()<std::int64_t>();
        case DType::UInt8:
            return f.template operator()<std::uint8_t>();
        case DType::UInt16:
            return f.template operator()<std::uint16_t>();
        case DType::UInt32:
            return f.template operator()<std::uint32_t>();
        case DType::UInt64:
            return f.template operator()<std::uint64_t>();
        case DType::Float16:
            return f.template operator()<Half>();
        case DType::Float32:
            return f.template operator()<float>();
        case DType::Float64:
            return f.template operator()<double>();
        case DType::Complex64:
            return f.template operator()<std::complex<float>>();
        case DType::Complex128:
            return f.template operator()<std::complex<double>>();
    }
    throw InvalidArgument(Problem{"unknown dtype", text(static_cast<int>(dtype)),
                                  text("0 to ", dtype_count - 1), ""});
}

}  // namespace fluvial
