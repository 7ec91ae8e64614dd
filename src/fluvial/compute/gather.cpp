// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/gather.hpp"

#include <cstring>
#include <type_traits>

#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {
namespace {

template <class T>
constexpr bool complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// The word that an element, or one part of a complex one, is loaded as.
template <class T>
struct PartOf {
    using Type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
    using Type = T;
};

template <class T, bool Swapped>
T load(const std::byte* from) {
    constexpr std::size_t part = sizeof(typename PartOf<T>::Type);
    T value;
    if constexpr (Swapped && part > 1) {
        std::byte bytes[sizeof(T)];
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bytes[i] = from[i ^ (part - 1)];
        }
        std::memcpy(&value, bytes, sizeof(T));
    } else {
        std::memcpy(&value, from, sizeof(T));
    }
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

/// Contiguous values by a kernel; whether there is one.
template <class From, class To, bool Swapped>
bool convert_dense(const std::byte* from, Index count, To* out) {
    if constexpr (std::is_same_v<From, To>) {
        constexpr std::size_t part = sizeof(typename PartOf<From>::Type);
        if constexpr (Swapped && part > 1) {
            constexpr int log2 = part == 2 ? 1 : part == 4 ? 2 : 3;
            constexpr Index parts = sizeof(From) / part;
            kernels().swap_bytes[log2](from, count * parts, out);
        } else {
            std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(From));
        }
        return true;
    } else if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float> && !Swapped) {
        kernels().widen_half(reinterpret_cast<const std::uint16_t*>(from), count, out);
        return true;
    } else if constexpr (std::is_arithmetic_v<From> && std::is_same_v<To, double>) {
        kernels().widen[Swapped][static_cast<int>(dtype_of<From>())](from, count, out);
        return true;
    }
    return false;
}

template <class From, class To, bool Swapped>
void gather(const std::byte* from, Index stride, Index count, void* to) {
    if (count == 0) {
        return;
    }
    To* out = static_cast<To*>(to);
    if (stride == sizeof(From) && convert_dense<From, To, Swapped>(from, count, out)) {
        return;
    }
    for (Index i = 0; i < count; ++i) {
        out[i] = convert<From, To>(load<From, Swapped>(from + i * stride));
    }
}

template <bool Swapped>
Gather find(DType from, DType to) {
    return dispatch(from, [&]<class From>() -> Gather {
        if (from == to) {
            return gather<From, From, Swapped>;
        }
        if constexpr (std::is_same_v<From, Half>) {
            if (to == DType::Float32) {
                return gather<From, float, Swapped>;
            }
        }
        if constexpr (!complex_type<From>) {
            if (to == DType::Float64) {
                return gather<From, double, Swapped>;
            }
            if (to == DType::Complex128) {
                return [](const std::byte* in, Index stride, Index count, void* out) {
                    for (Index i = 0; i < count; ++i) {
                        static_cast<std::complex<double>*>(out)[i] =
                            convert<From, double>(load<From, Swapped>(in + i * stride));
                    }
                };
            }
        } else if (to == DType::Complex128) {
            return gather<From, std::complex<double>, Swapped>;
        }
        throw InvalidArgument(
            Problem{"no conversion between dtypes", text(name_of(from), " to ", name_of(to)),
                    "the same dtype, float64 for real ones, complex128 for all", ""});
    });
}

}  // namespace

Gather gather_function(DType from, DType to, bool swapped) {
    return swapped ? find<true>(from, to) : find<false>(from, to);
}

}  // namespace fluvial::compute
