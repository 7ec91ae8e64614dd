// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/dtype.hpp"

namespace fluvial {
namespace {

constexpr std::array<std::string_view, dtype_count> names = {
    "int8",   "int16",   "int32",   "int64",   "uint8",     "uint16",     "uint32",
    "uint64", "float16", "float32", "float64", "complex64", "complex128",
};
constexpr std::array<std::uint8_t, dtype_count> sizes = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

/// A program in C++ may make a dtype of any number.
std::size_t position_of(DType dtype) {
    return static_cast<std::size_t>(dtype_from_number(static_cast<int>(dtype)));
}

}  // namespace

std::size_t size_of(DType dtype) {
    return sizes[position_of(dtype)];
}

std::string_view name_of(DType dtype) {
    return names[position_of(dtype)];
}

DType dtype_from_name(std::string_view name) {
    std::string allowed;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) {
            return static_cast<DType>(i);
        }
        allowed += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    throw InvalidArgument(
        Problem{"unsupported dtype", text("'", name, "'"), allowed, "Convert the array first"});
}

DType dtype_from_number(int number) {
    if (number < 0 || number >= dtype_count) {
        throw InvalidArgument(
            Problem{"unknown dtype number", text(number), text("0 to ", dtype_count - 1), ""});
    }
    return static_cast<DType>(number);
}

}  // namespace fluvial
