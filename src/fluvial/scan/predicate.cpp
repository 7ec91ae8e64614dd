// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <type_traits>

#include "fluvial/base/terms.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/scan/request.hpp"

namespace fluvial::scan {
namespace {

template <class T, class Holds>
void ask(const ArrayView& view, std::span<std::uint8_t> mask, Holds holds) {
    // Row by row; the innermost axis is a plain loop.
    const int ndim = view.ndim();
    const Index count = ndim == 0 ? 1 : view.extent[ndim - 1];
    const Index step = ndim == 0 ? 0 : view.strides[ndim - 1];
    const auto outer = static_cast<std::size_t>(std::max(ndim - 1, 0));
    std::uint8_t* out = mask.data();
    const auto ask_row = [&](Index at) {
        const std::byte* const row = view.data + at;
        if (step == sizeof(T)) {
            for (Index i = 0; i < count; ++i) {
                T value;
                std::memcpy(&value, row + i * static_cast<Index>(sizeof(T)), sizeof(T));
                out[i] &= static_cast<std::uint8_t>(holds(value));
            }
        } else {
            for (Index i = 0; i < count; ++i) {
                T value;
                std::memcpy(&value, row + i * step, sizeof(T));
                out[i] &= static_cast<std::uint8_t>(holds(value));
            }
        }
        out += count;
    };
    for_each_offset(view.extent.span().first(outer), ask_row, view.strides);
}

template <class T>
void compare_elements(const ArrayView& view, Comparison comparison, double bound,
                      std::span<std::uint8_t> mask) {
    switch (comparison) {
        case Comparison::Less:
            return ask<T>(view, mask, [=](T v) { return static_cast<double>(v) < bound; });
        case Comparison::LessEqual:
            return ask<T>(view, mask, [=](T v) { return static_cast<double>(v) <= bound; });
        case Comparison::Greater:
            return ask<T>(view, mask, [=](T v) { return static_cast<double>(v) > bound; });
        case Comparison::GreaterEqual:
            return ask<T>(view, mask, [=](T v) { return static_cast<double>(v) >= bound; });
        case Comparison::Equal:
            return ask<T>(view, mask, [=](T v) { return static_cast<double>(v) == bound; });
        case Comparison::NotEqual:
            return ask<T>(view, mask, [=](T v) {
                const auto value = static_cast<double>(v);
                return value != bound && value == value;  // NaN compares false
            });
    }
}

const char* sign_of(Comparison comparison) {
    switch (comparison) {
        case Comparison::Less:
            return "<";
        case Comparison::LessEqual:
            return "<=";
        case Comparison::Greater:
            return ">";
        case Comparison::GreaterEqual:
            return ">=";
        case Comparison::Equal:
            return "==";
        case Comparison::NotEqual:
            return "!=";
    }
    return "";
}

}  // namespace

void check_comparable(DType dtype, double bound, const std::string& what) {
    constexpr double exact_below = 0x1p53;
    const bool wide = dtype == DType::Int64 || dtype == DType::UInt64;
    if (wide && std::abs(bound) >= exact_below && std::isfinite(bound)) {
        throw InvalidArgument(
            Problem{text(what, " of ", name_of(dtype), " cannot be compared exactly"), exact(bound),
                    "bounds below 2^53", "Read it, and compare the array"});
    }
}

Predicate compare(int input, Comparison comparison, double bound) {
    if (comparison > Comparison::NotEqual) {
        throw InvalidArgument(Problem{"no such comparison",
                                      text("number ", static_cast<int>(comparison)),
                                      "0 to 5: Less, LessEqual, Greater, GreaterEqual, Equal, "
                                      "NotEqual",
                                      "Name the enumerator"});
    }
    auto holds = [=](std::span<const ArrayView> inputs, const Region&,
                     std::span<std::uint8_t> mask) {
        if (input < 0 || input >= static_cast<int>(inputs.size())) {
            throw InvalidArgument(Problem{"a comparison reads a dataset that is not there",
                                          text("number ", input), text("0 to ", inputs.size() - 1),
                                          ""});
        }
        const ArrayView& view = inputs[static_cast<std::size_t>(input)];
        check_comparable(view.dtype, bound, "a dataset");
        dispatch(view.dtype, [&]<class T>() {
            if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Half>) {
                compare_elements<T>(view, comparison, bound, mask);
            } else {
                throw InvalidArgument(Problem{"cannot compare elements with a number",
                                              std::string(name_of(view.dtype)),
                                              "integers and real numbers", ""});
            }
        });
    };
    Predicate predicate(holds, text("input ", input, " ", sign_of(comparison), " ", exact(bound)));
    predicate.asked = {input};
    return predicate;
}

}  // namespace fluvial::scan
