// SPDX-License-Identifier: Apache-2.0
/// What a quantile knows of the elements of one kept position: the elements themselves while they
/// are few, and from then on how many of them lie in each cell of a grid.
///
/// The cells are [k · 2^e, (k + 1) · 2^e). The exponent e is the smallest one for which the range
/// of the data, its least to its greatest element, has no more than `cells_max` cells, and no cell
/// is narrower than what distinguishes two elements. A cell of e + 1 is two cells of e, so that the
/// state depends on the elements alone, and not on the order in which they came or were merged.
#pragma once

#include <limits>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/coordinates.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::compute {

/// Two numbers between which an element lies, both included.
struct Interval {
    double low = 0, high = 0;

    bool contains(double x) const { return low <= x && x <= high; }
    /// True for NaN, too: there are no data, or one of them is NaN.
    bool exact() const { return !(low < high); }
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// What all sketches of one reduction have in common.
class SketchGrid {
  public:
    Index cells_max = 0;
    DType dtype = DType::Float64;  ///< of the data
    /// Count the order-preserving bits of float64 instead of their values: repeated narrowing then
    /// ends after few passes whatever the data.
    bool by_bits = false;

    /// The smallest exponent for data from `low` to `high`, both finite.
    int exponent(double low, double high) const;
    /// k of the cell that x lies in; x is finite.
    std::int64_t cell_of(double x, int exponent) const;
    /// The least and the greatest number of the dtype in a cell.
    Interval bounds(std::int64_t cell, int exponent) const;

  private:
    Interval tight(double low, double high) const;
};

class QuantileSketch {
  public:
    /// Adds a finite number. Weight 0 is passed over.
    void add(double x, double weight, const SketchGrid& grid) {
        if (weight == 0) {
            return;
        }
        elements_.push_back(x + 0.0);  // no -0.0
        inside_ += weight;
        if (weighted_) {
            weights_.push_back(weight);
        }
        if (elements_.size() >
            (counts_.empty() ? static_cast<std::size_t>(grid.cells_max) : waiting_max)) {
            count_elements(grid);
        }
    }
    /// Adds n finite numbers of weight 1 that lie in `range`.
    template <class T>
    void add_all(const T* x, Index n, Interval range, const SketchGrid& grid);
    /// The same in two steps: makes room, unless all elements are kept (false); counts them, which
    /// may also be done from outside, in cells().
    bool make_room(Index n, Interval range, const SketchGrid& grid);
    template <class T>
    void count_all(const T* x, Index n, const SketchGrid& grid);
    void merge(const QuantileSketch& other, const SketchGrid& grid);

    /// Adds the weight of an element that is too small or too large for the sketch's scope.
    void add_below(double weight) { below_ += weight; }
    void add_above(double weight) { above_ += weight; }
    void note_nan() { nan_ = true; }
    void note_weights() {
        if (!weighted_) {
            weighted_ = true;
            weights_.assign(elements_.size(), 1.0);
        }
    }

    bool has_nan() const { return nan_; }
    bool weighted() const { return weighted_; }
    double total() const { return below_ + inside_ + above_; }

    /// Counts or sorts the elements; before element_at.
    void settle(const SketchGrid& grid);
    /// Where the element with this number from 0 on in ascending order lies; weighted: the first
    /// one at which the weight so far is `share` of the total. -inf and inf where it is one of
    /// those below or above.
    Interval element_at(double number, double share, const SketchGrid& grid) const;

    void encode(ByteWriter& out) const;
    void decode(ByteReader& in);

    int exponent() const { return exponent_; }
    std::int64_t first_cell() const { return first_; }
    std::vector<double>& cells() { return counts_; }

  private:
    static constexpr std::size_t waiting_max = 32;  ///< elements, before they are counted together

    void count_elements(const SketchGrid& grid);
    void widen(Interval range, const SketchGrid& grid);
    void coarsen(int exponent);
    void cover(std::int64_t first, std::int64_t last);
    void add_counts(const QuantileSketch& other);
    double& count_of(double x, const SketchGrid& grid) {
        return counts_[static_cast<std::size_t>(grid.cell_of(x, exponent_) - first_)];
    }

    std::vector<double> elements_;  ///< all, or those that are not yet counted
    std::vector<double> weights_;   ///< of elements_, when weighted
    std::vector<double> counts_;    ///< of the cells from first_ on; empty while all are kept
    std::int64_t first_ = 0;
    double below_ = 0, inside_ = 0, above_ = 0;
    /// The range of the counted elements.
    Interval range_{std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
    int exponent_ = 0;
    bool weighted_ = false, nan_ = false;
};

}  // namespace fluvial::compute
