// SPDX-License-Identifier: Apache-2.0
/// A short vector of 64-bit integers with its storage inside: offsets, extents, strides and
/// coordinates of n-d data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>

#include "fluvial/base/error.hpp"

namespace fluvial {

/// Global offsets, extents and element counts.
using Index = std::int64_t;

/// HDF5 allows 32 dimensions, NumPy 64; no dataset of this field that we know has more than 9.
inline constexpr int ndim_max = 16;

class Coordinates {
  public:
    Coordinates() = default;
    Coordinates(std::initializer_list<Index> values)
        : Coordinates(std::span(values.begin(), values.size())) {}
    explicit Coordinates(std::span<const Index> values)
        : Coordinates(static_cast<int>(values.size()), 0) {
        std::copy(values.begin(), values.end(), values_);
    }
    /// `ndim` entries of `value`. Throws InvalidArgument above ndim_max.
    Coordinates(int ndim, Index value) : size_(ndim) {
        if (ndim < 0 || ndim > ndim_max) {
            throw InvalidArgument(Problem{"too many dimensions", text(ndim),
                                          text("0 to ", ndim_max),
                                          "Reshape the array to fewer dimensions"});
        }
        std::fill_n(values_, ndim, value);
    }

    int size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Index& operator[](int axis) { return values_[axis]; }
    Index operator[](int axis) const { return values_[axis]; }
    Index* begin() { return values_; }
    Index* end() { return values_ + size_; }
    const Index* begin() const { return values_; }
    const Index* end() const { return values_ + size_; }
    std::span<const Index> span() const { return {values_, static_cast<std::size_t>(size_)}; }
    void push_back(Index value) {
        *this = [&] {
            Coordinates longer(size_ + 1, value);
            std::copy(begin(), end(), longer.begin());
            return longer;
        }();
    }

    friend bool operator==(const Coordinates& a, const Coordinates& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend std::ostream& operator<<(std::ostream& out, const Coordinates& c) {
        out << '(';
        for (int i = 0; i < c.size(); ++i) {
            out << (i == 0 ? "" : ", ") << c[i];
        }
        return out << (c.size() == 1 ? ",)" : ")");
    }

  private:
    int size_ = 0;
    Index values_[ndim_max] = {};
};

/// Product of the entries (1 for none): the number of elements of an extent. Throws InvalidArgument
/// when negative entries are present or the product does not fit in 63 bits.
Index volume_of(const Coordinates& extent);

}  // namespace fluvial
