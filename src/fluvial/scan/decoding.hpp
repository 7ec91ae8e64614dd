// SPDX-License-Identifier: Apache-2.0
/// From stored values to numbers, as the CF conventions (sections 2.5.1 and 8.1) say: missing
/// values are left out, packed ones are scaled. The default leaves everything as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::scan {

/// A number in one dtype's own terms, so that int64 and uint64 are exact.
struct StoredValue {
    std::vector<std::byte> bytes;  ///< one element of the dataset's dtype, native order
};

struct Decoding {
    std::vector<StoredValue> missing;  ///< stored values that mean "no value"; NaN matches NaN
    std::optional<StoredValue> valid_min, valid_max;  ///< stored values outside mean "no value"
    bool packed = false;                              ///< value = stored * scale + offset
    double scale = 1, offset = 0;
    DType unpacked = DType::Float64;  ///< of packed data: float32 or float64

    bool drops_values() const {
        return !missing.empty() || valid_min.has_value() || valid_max.has_value();
    }
    /// That operators see.
    DType dtype(DType stored) const { return packed ? unpacked : stored; }
};

/// What `attributes` (_FillValue, missing_value, valid_min, valid_max, valid_range, scale_factor,
/// add_offset, _Unsigned) say of a dataset of this dtype. A value that the dtype cannot hold is
/// ignored, with a line in `warnings`. Packed integers of 8 and 16 bits with float32 scale_factor
/// become float32, others float64. Local.
Decoding cf_decoding(const Attributes& attributes, DType dtype, const std::string& dataset,
                     std::vector<std::string>& warnings);

}  // namespace fluvial::scan
