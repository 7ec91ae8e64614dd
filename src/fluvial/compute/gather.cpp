// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/gather.hpp"

#include <cstring>
#include <type_traits>

#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {
namespace {

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

template <class From, class To>
To convert(From value) {
    if constexpr (std::is_same_v<From, Half> && !std::is_same_v<To, Half>) {
        return static_cast<To>(static_cast<float>(value));
    } else {
        return static_cast<To>(value);
    }
}

template <class From, class To>
void gather(const std::byte* from, Index stride, Index count, void* to) {
    if (count == 0) {
        return;
    }
    To* out = static_cast<To*>(to);
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
        if (stride == sizeof(Half)) {
            return kernels().widen_half(reinterpret_cast<const std::uint16_t*>(from), count, out);
        }
    }
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double>) {
        if (stride == sizeof(float)) {
            return kernels().widen_float(reinterpret_cast<const float*>(from), count, out);
        }
    }
    if constexpr (std::is_same_v<From, To>) {
        if (stride == sizeof(From)) {
            std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(From));
            return;
        }
    }
    for (Index i = 0; i < count; ++i) {
        out[i] = convert<From, To>(load<From>(from + i * stride));
    }
}

template <class T>
constexpr bool complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

}  // namespace

Gather gather_function(DType from, DType to) {
    return dispatch(from, [&]<class From>() -> Gather {
        if (from == to) {
            return gather<From, From>;
        }
        if constexpr (std::is_same_v<From, Half>) {
            if (to == DType::Float32) {
                return gather<From, float>;
            }
        }
        if constexpr (!complex_type<From>) {
            if (to == DType::Float64) {
                return gather<From, double>;
            }
            if (to == DType::Complex128) {
                return [](const std::byte* in, Index stride, Index count, void* out) {
                    for (Index i = 0; i < count; ++i) {
                        static_cast<std::complex<double>*>(out)[i] =
                            convert<From, double>(load<From>(in + i * stride));
                    }
                };
            }
        } else if (to == DType::Complex128) {
            return gather<From, std::complex<double>>;
        }
        throw InvalidArgument(
            Problem{"no conversion between dtypes", text(name_of(from), " to ", name_of(to)),
                    "the same dtype, float64 for real ones, complex128 for all", ""});
    });
}

}  // namespace fluvial::compute
