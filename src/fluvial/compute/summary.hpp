// SPDX-License-Identifier: Apache-2.0
/// What one pass over a run of values finds out for all operators that need any of it: sum,
/// minimum, maximum, NaN.
#pragma once

#include <cstdint>
#include <type_traits>

#include "fluvial/describe/coordinates.hpp"

namespace fluvial::compute {

__extension__ typedef __int128 Int128;

/// A number in the widest type of its kind.
union Widest {
    double real;
    std::int64_t integer;
    std::uint64_t natural;

    template <class T>
    T as() const {
        if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(real);
        } else if constexpr (std::is_signed_v<T>) {
            return static_cast<T>(integer);
        } else {
            return static_cast<T>(natural);
        }
    }
};

/// Parts that a caller may ask for; or-ed together.
enum SummaryPart : unsigned { summary_sum = 1, summary_bounds = 2 };

struct Summary {
    double sum = 0;   ///< real types, and the real part of complex ones
    double imag = 0;  ///< imaginary part of complex types
    /// What rounding has taken from them: the exact sum is `sum + lost`, but for rounding of `lost`
    /// itself. 0 when the sum is not finite.
    double lost = 0, lost_imag = 0;
    Int128 exact = 0;     ///< integer types; never wraps for a run of up to 2^31 elements
    Widest min{}, max{};  ///< bounds of the values that are not NaN; meaningless for an empty run
    bool nan = false;     ///< a NaN is present; only known when bounds were asked for
};

}  // namespace fluvial::compute
