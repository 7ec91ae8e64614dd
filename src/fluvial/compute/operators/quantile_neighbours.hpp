// SPDX-License-Identifier: Apache-2.0
/// The two elements that a quantile lies between, each known to be in an interval.
#pragma once

#include <algorithm>
#include <cmath>

#include "fluvial/compute/operators/quantile_sketch.hpp"

namespace fluvial::compute {

/// a + t (b - a), with the roundings of numpy.quantile; beside an infinite number infinite, as
/// numpy.median, where numpy.quantile is NaN.
inline double interpolate(double a, double b, double t) {
    if (t == 0 || a == b) {
        return a;
    }
    const double difference = b - a;
    if (std::isinf(difference)) {
        return a * (1 - t) + b * t;
    }
    return t >= 0.5 ? b - difference * (1 - t) : a + difference * t;
}

/// The elements on either side of a quantile, and how far it is from the lower one to the upper.
struct Neighbours {
    Interval lower, upper;
    double fraction = 0;

    double value() const {
        const auto [low, high] = bounds();
        return low == high ? low : low / 2 + high / 2;
    }
    double error() const {
        const auto [low, high] = bounds();
        const double middle = value(), error = std::max(high - middle, middle - low);
        return low < high ? std::nextafter(error, std::numeric_limits<double>::max()) : 0.0;
    }

  private:
    Interval bounds() const {
        return {interpolate(lower.low, upper.low, fraction),
                interpolate(lower.high, upper.high, fraction)};
    }
};

}  // namespace fluvial::compute
