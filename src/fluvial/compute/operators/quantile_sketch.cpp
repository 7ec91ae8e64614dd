// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/quantile_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace fluvial::compute {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest_number = std::numeric_limits<double>::max();
constexpr int digits = std::numeric_limits<double>::digits;
constexpr int least_exponent = -1074;  ///< of the smallest float64

/// A whole number with the order of float64 (no NaN), and back.
std::int64_t order_of(double x) {
    const auto bits = std::bit_cast<std::int64_t>(x + 0.0);
    return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}
double with_order(std::int64_t order) {
    return std::bit_cast<double>(order < 0 ? std::numeric_limits<std::int64_t>::min() - order
                                           : order);
}

/// 2^-exponent, where that is an ordinary number.
bool has_scale(int exponent) {
    return exponent > -1000 && exponent < 1000;
}
double scale_of(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - exponent) << 52);
}

std::int64_t floor_of(double scaled, double x) {
    const auto whole = static_cast<std::int64_t>(scaled);
    // A small negative number may have become -0.
    return whole - (scaled < static_cast<double>(whole) || (scaled == 0 && x < 0));
}

template <class T>
Interval rounded_inwards(double low, double high) {
    constexpr T most = std::numeric_limits<T>::infinity();
    T least = static_cast<T>(low), greatest = static_cast<T>(high);
    least = static_cast<double>(least) < low ? std::nextafter(least, most) : least;
    greatest = static_cast<double>(greatest) > high ? std::nextafter(greatest, -most) : greatest;
    return {static_cast<double>(least), static_cast<double>(greatest)};
}

}  // namespace

int SketchGrid::exponent(double low, double high) const {
    int e = 0;
    if (!by_bits) {
        const double far = std::max(std::abs(low), std::abs(high));
        e = far == 0 ? least_exponent : std::max(std::ilogb(far) - (digits - 1), least_exponent);
        e = is_integer(dtype) ? std::max(e, 0) : e;
        const double half = high / 2 - low / 2;  // the range may be infinite
        if (half > 0) {
            e = std::max(e, std::ilogb(half) - std::ilogb(static_cast<double>(cells_max)) - 1);
        }
    }
    const auto too_many = [&] {
        const auto first = static_cast<std::uint64_t>(cell_of(low, e));
        return static_cast<std::uint64_t>(cell_of(high, e)) - first >=
               static_cast<std::uint64_t>(cells_max);
    };
    while (too_many()) {
        ++e;
    }
    return e;
}

std::int64_t SketchGrid::cell_of(double x, int exponent) const {
    if (by_bits) {
        return order_of(x) >> exponent;
    }
    return floor_of(has_scale(exponent) ? x * scale_of(exponent) : std::ldexp(x, -exponent), x);
}

Interval SketchGrid::bounds(std::int64_t cell, int exponent) const {
    if (by_bits) {
        // Beyond the largest number there are infinities and NaN.
        const std::int64_t first = cell << exponent, most = order_of(largest_number);
        const std::int64_t last = first + ((std::int64_t{1} << exponent) - 1);
        return tight(with_order(std::max(first, -most)), with_order(std::min(last, most)));
    }
    const double end = std::ldexp(static_cast<double>(cell + 1), exponent);
    return tight(std::ldexp(static_cast<double>(cell), exponent), std::nextafter(end, -infinity));
}

Interval SketchGrid::tight(double low, double high) const {
    if (is_integer(dtype)) {
        return {std::ceil(low), std::floor(high)};
    }
    return dtype == DType::Float32 ? rounded_inwards<float>(low, high) : Interval{low, high};
}

bool QuantileSketch::make_room(Index n, Interval range, const SketchGrid& grid) {
    if (counts_.empty() && static_cast<Index>(elements_.size()) + n <= grid.cells_max) {
        return false;
    }
    widen(range, grid);
    inside_ += static_cast<double>(n);
    return true;
}

template <class T>
void QuantileSketch::add_all(const T* x, Index n, Interval range, const SketchGrid& grid) {
    if (make_room(n, range, grid)) {
        count_all(x, n, grid);
        return;
    }
    for (Index i = 0; i < n; ++i) {
        add(static_cast<double>(x[i]), 1, grid);
    }
}

template <class T>
void QuantileSketch::count_all(const T* x, Index n, const SketchGrid& grid) {
    double* const counts = counts_.data();
    if (grid.by_bits || !has_scale(exponent_)) {
        for (Index i = 0; i < n; ++i) {
            count_of(static_cast<double>(x[i]), grid) += 1;
        }
        return;
    }
    const double scale = scale_of(exponent_);
    for (Index i = 0; i < n; ++i) {
        const auto value = static_cast<double>(x[i]);
        counts[floor_of(value * scale, value) - first_] += 1;
    }
}

template void QuantileSketch::add_all(const float*, Index, Interval, const SketchGrid&);
template void QuantileSketch::add_all(const double*, Index, Interval, const SketchGrid&);
template void QuantileSketch::count_all(const float*, Index, const SketchGrid&);
template void QuantileSketch::count_all(const double*, Index, const SketchGrid&);

/// From elements_ to counts_.
void QuantileSketch::count_elements(const SketchGrid& grid) {
    if (elements_.empty()) {
        return;
    }
    std::vector<double> elements = std::exchange(elements_, {});
    const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
    widen({*least, *most}, grid);
    if (weights_.empty()) {
        count_all(elements.data(), static_cast<Index>(elements.size()), grid);
    } else {
        for (std::size_t i = 0; i < elements.size(); ++i) {
            count_of(elements[i], grid) += weights_[i];
        }
        weights_.clear();
    }
    if (elements.size() <= 2 * waiting_max) {
        elements.clear();
        elements_ = std::move(elements);  // for its memory
    }
}

void QuantileSketch::merge(const QuantileSketch& other, const SketchGrid& grid) {
    nan_ = nan_ || other.nan_;
    below_ += other.below_;
    above_ += other.above_;
    if (other.weighted_) {
        note_weights();
    }
    if (!other.counts_.empty()) {
        widen(other.range_, grid);
        add_counts(other);
    }
    const double inside = inside_ + other.inside_;
    for (std::size_t i = 0; i < other.elements_.size(); ++i) {
        add(other.elements_[i], other.weighted_ ? other.weights_[i] : 1.0, grid);
    }
    inside_ = inside;
}

/// Adds the counts of a sketch whose range lies in the range of this one.
void QuantileSketch::add_counts(const QuantileSketch& other) {
    const int shift = std::min(exponent_ - other.exponent_, 63);
    for (std::size_t i = 0; i < other.counts_.size(); ++i) {
        if (other.counts_[i] != 0) {
            const std::int64_t cell = other.first_ + static_cast<std::int64_t>(i);
            counts_[static_cast<std::size_t>((cell >> shift) - first_)] += other.counts_[i];
        }
    }
}

/// Counts from now on, if it did not before, in cells for `range`, too.
void QuantileSketch::widen(Interval range, const SketchGrid& grid) {
    range = {std::min(range_.low, range.low + 0.0), std::max(range_.high, range.high + 0.0)};
    if (range == range_) {
        return;
    }
    range_ = range;
    const int exponent = grid.exponent(range_.low, range_.high);
    const std::int64_t first = grid.cell_of(range_.low, exponent);
    if (counts_.empty()) {
        exponent_ = exponent;
        first_ = first;
    } else {
        coarsen(exponent);
    }
    cover(first, grid.cell_of(range_.high, exponent));
    if (!elements_.empty()) {
        count_elements(grid);
    }
}

void QuantileSketch::coarsen(int exponent) {
    if (exponent == exponent_) {
        return;
    }
    const int shift = std::min(exponent - exponent_, 63);
    const std::int64_t first = first_ >> shift;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const std::int64_t cell = (first_ + static_cast<std::int64_t>(i)) >> shift;
        const double count = std::exchange(counts_[i], 0.0);
        counts_[static_cast<std::size_t>(cell - first)] += count;
    }
    const std::int64_t last = (first_ + static_cast<std::int64_t>(counts_.size()) - 1) >> shift;
    counts_.resize(static_cast<std::size_t>(last - first + 1));
    first_ = first;
    exponent_ = exponent;
}

/// Cells from `first` to `last`; below them some more, since one that is new below moves all.
void QuantileSketch::cover(std::int64_t first, std::int64_t last) {
    if (first < first_) {
        const auto missing = static_cast<std::size_t>(first_ - first);
        const std::size_t room = std::max(missing, counts_.size() / 4);
        counts_.insert(counts_.begin(), room, 0.0);
        first_ -= static_cast<std::int64_t>(room);
    }
    const auto needed = static_cast<std::size_t>(last - first_) + 1;
    if (counts_.size() < needed) {
        counts_.resize(needed);
    }
}

void QuantileSketch::settle(const SketchGrid& grid) {
    if (!counts_.empty()) {
        count_elements(grid);
        return;
    }
    if (!weighted_) {
        std::sort(elements_.begin(), elements_.end());
        return;
    }
    std::vector<std::size_t> order(elements_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(elements_[a], weights_[a]) < std::pair(elements_[b], weights_[b]);
    });
    const std::vector<double> elements = elements_, weights = weights_;
    for (std::size_t i = 0; i < order.size(); ++i) {
        elements_[i] = elements[order[i]];
        weights_[i] = weights[order[i]];
    }
}

Interval QuantileSketch::element_at(double number, double share, const SketchGrid& grid) const {
    const bool counts = !counts_.empty();
    double seen = below_;
    const auto reached = [&] {
        return weighted_ ? seen > 0 && seen / total() >= share : seen > number;
    };
    if (reached()) {
        return {-infinity, -infinity};
    }
    if (!counts && !weighted_) {
        const double place = number - below_;
        const bool inside = place < static_cast<double>(elements_.size());
        const double x = inside ? elements_[static_cast<std::size_t>(place)] : infinity;
        return {x, x};
    }
    const bool least = weighted_ ? share == 0 && below_ == 0 : number == below_;
    const bool most = weighted_ ? share == 1 && above_ == 0 : number == below_ + inside_ - 1;
    if (counts && (least || most)) {
        const double known = least ? range_.low : range_.high;
        return {known, known};
    }
    const std::vector<double>& amounts = counts ? counts_ : weights_;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        seen += amounts[i];
        if (amounts[i] == 0 || !reached()) {
            continue;
        }
        if (!counts) {
            return {elements_[i], elements_[i]};
        }
        const Interval cell = grid.bounds(first_ + static_cast<std::int64_t>(i), exponent_);
        return {std::max(cell.low, range_.low), std::min(cell.high, range_.high)};
    }
    // Weights that were rounded may fall short of their total.
    const double last = above_ > 0 || amounts.empty() ? infinity
                        : counts                      ? range_.high
                                                      : elements_.back();
    return {last, last};
}

void QuantileSketch::encode(ByteWriter& out) const {
    for (const auto* vector : {&elements_, &weights_, &counts_}) {
        out.put_vector(*vector);
    }
    out.put(first_);
    for (const double number : {below_, inside_, above_, range_.low, range_.high}) {
        out.put(number);
    }
    out.put(exponent_);
    out.put(weighted_);
    out.put(nan_);
}

void QuantileSketch::decode(ByteReader& in) {
    for (auto* vector : {&elements_, &weights_, &counts_}) {
        *vector = in.get_vector<double>();
    }
    first_ = in.get<std::int64_t>();
    for (double* number : {&below_, &inside_, &above_, &range_.low, &range_.high}) {
        *number = in.get<double>();
    }
    exponent_ = in.get<int>();
    weighted_ = in.get<bool>();
    nan_ = in.get<bool>();
}

}  // namespace fluvial::compute
