// SPDX-License-Identifier: Apache-2.0
/// From stored values to numbers, run by run: missing values are found and marked, packed ones are
/// scaled, bytes of the other order are put right. What attributes mean is decided elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::compute {

/// Which stored values of a dtype mean "no value". Values are compared as they are stored, so
/// int64 and uint64 exactly; -0 equals 0. Immutable once built, shareable between threads.
class MissingValues {
  public:
    /// Nothing is missing yet.
    explicit MissingValues(DType stored);

    /// `value` is one element in native order; a NaN stands for every NaN, which a complex number
    /// with such a part is, too. Throws InvalidArgument when it has another size.
    void add(std::span<const std::byte> value);
    /// What is smaller (larger) than `bound` is missing. A NaN is no bound, and no NaN is outside
    /// one. Throws InvalidArgument for complex dtypes.
    void set_valid_min(std::span<const std::byte> bound);
    void set_valid_max(std::span<const std::byte> bound);

    DType dtype() const { return dtype_; }
    /// Whether no element can be missing.
    bool empty() const { return values_.empty() && !nan_ && !bounded_; }

  private:
    friend class MissingReader;

    std::vector<std::byte> native(std::span<const std::byte> value) const;
    void set_bound(std::span<const std::byte> value, std::vector<std::byte>& bound);

    DType dtype_;
    std::vector<std::byte> values_;        ///< of the dtype that kernels compare in, no NaN
    std::vector<std::byte> least_, most_;  ///< one value each
    bool nan_ = false, bounded_ = false;
};

/// Whether any element of `run`, a contiguous view (any alignment, swapped or not) of
/// `missing.dtype()`, is missing. Local; one or two passes over the run, no allocation.
bool any_missing(const ArrayView& run, const MissingValues& missing);

/// What operators see of `run`, a contiguous view of `missing.dtype()`, swapped or not: `values`
/// (contiguous, as many elements) gets the stored values in native order, or when `packed` stored *
/// scale + offset, computed in float64 and rounded once to float32 or float64, whichever `values`
/// has. `included` (one byte an element; null when not wanted) gets 0 where the element is missing,
/// else 1; a missing element's value is unpacked like any other. `values.data` may be null when
/// only `included` is wanted. Throws InvalidArgument when the arrays do not fit together, and for
/// packed complex numbers.
void decode(const ArrayView& run, const MissingValues& missing, bool packed, double scale,
            double offset, const MutableArrayView& values, std::uint8_t* included);

}  // namespace fluvial::compute
