// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/element_type.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "fluvial/compute/apply.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace fluvial::c {
namespace {

template <class To, class From>
bool fits(From x) {
    if constexpr (std::is_floating_point_v<To>) {
        if constexpr (std::is_floating_point_v<From> && sizeof(From) > sizeof(To)) {
            return !std::isfinite(x) || std::isfinite(static_cast<To>(x));
        } else {
            return true;
        }
    } else if constexpr (std::is_floating_point_v<From>) {
        constexpr int digits = std::numeric_limits<To>::digits;
        const From end = std::ldexp(From{1}, digits);  // one past the largest; exact
        const From begin = std::is_signed_v<To> ? -end : From{0};
        return x >= begin && x < end && x == std::trunc(x);
    } else {
        return std::in_range<To>(x);
    }
}

/// What arithmetic is done in.
template <class T>
auto number(T x) {
    if constexpr (std::is_same_v<T, Half>) {
        return static_cast<float>(x);
    } else {
        return x;
    }
}

template <class From, class To>
void convert_line(const From* from, Index count, To* to) {
    for (Index i = 0; i < count; ++i) {
        const auto x = number(from[i]);
        if (!fits<To>(x)) {
            throw OutOfRange(Problem{"a number does not fit the type asked for", text(+x),
                                     text(name_of(dtype_of<To>())),
                                     "Ask for a wider type, or for a floating-point one"});
        }
        to[i] = static_cast<To>(x);
    }
}

[[noreturn]] void refuse(DType from, DType to) {
    throw InvalidArgument(Problem{"cannot convert these elements",
                                  text(name_of(from), " to ", name_of(to)),
                                  "real dtypes to integers, float32 or float64", ""});
}

}  // namespace

void convert(const ArrayView& from, DType to, void* out) {
    if (is_complex(from.dtype) || is_complex(to) || to == DType::Float16) {
        refuse(from.dtype, to);
    }
    const Index size = from.size();
    std::vector<std::byte> line;
    const std::byte* source = from.data;
    if (!from.is_contiguous()) {
        line.resize(static_cast<std::size_t>(size) * size_of(from.dtype));
        copy(from, {line.data(), from.dtype, from.extent,
                    contiguous_strides(from.extent, size_of(from.dtype))});
        source = line.data();
    }
    dispatch(from.dtype, [&]<class From>() {
        dispatch(to, [&]<class To>() {
            if constexpr (!is_complex(dtype_of<From>()) && std::is_arithmetic_v<To>) {
                convert_line(reinterpret_cast<const From*>(source), size, static_cast<To*>(out));
            }
        });
    });
}

MPI_Datatype type_in_c(DType dtype, const std::string& name) {
    const auto known = mpi::c_type(dtype);
    if (!known) {
        const char* const remedy =
            is_complex(dtype) ? "" : "Ask for its elements as MPI_FLOAT or MPI_DOUBLE";
        throw InvalidArgument(Problem{text("'", name, "' has no type in C"),
                                      std::string(name_of(dtype)), "integers, float32, float64",
                                      remedy});
    }
    return *known;
}

compute::OperatorPtr on_converted(compute::OperatorPtr op, DType to) {
    return std::make_shared<compute::Apply>(
        [to](std::span<const ArrayView> inputs, const MutableArrayView& out) {
            convert(inputs[0], to, out.data);
        },
        [to](std::span<const DType> from) {
            if (is_complex(from[0])) {
                refuse(from[0], to);
            }
            return to;
        },
        1, std::move(op));
}

}  // namespace fluvial::c
