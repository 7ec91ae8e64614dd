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
    friend bool operator==(const StoredValue&, const StoredValue&) = default;
};

struct Decoding {
    /// Whether stored integers are unsigned, whatever their dtype says; none: as it says.
    std::optional<bool> as_unsigned;
    std::vector<StoredValue> missing;  ///< stored values that mean "no value"; NaN matches NaN
    std::optional<StoredValue> valid_min, valid_max;  ///< stored values outside mean "no value"
    bool packed = false;                              ///< value = stored * scale + offset, float64
    double scale = 1, offset = 0;

    friend bool operator==(const Decoding&, const Decoding&) = default;
    bool drops_values() const {
        return !missing.empty() || valid_min.has_value() || valid_max.has_value();
    }
    /// The dtype of the stored elements, with as_unsigned taken into account.
    DType stored(DType dtype) const;
    /// The dtype that operators see.
    DType decoded(DType dtype) const { return packed ? DType::Float64 : stored(dtype); }
};

/// What `attributes` (_FillValue, missing_value, valid_min, valid_max, valid_range, scale_factor,
/// add_offset, _Unsigned) say of a dataset of this dtype. Missing values and bounds are compared
/// with what is stored; bounds of packed integers that are given as floating-point numbers are
/// unpacked ones (NetCDF User Guide, attribute conventions). A _FillValue of two numbers is a
/// complex one. What the dtype cannot hold, or makes no sense, is ignored, with a line in
/// `warnings`. Local.
Decoding cf_decoding(const Attributes& attributes, DType dtype, const std::string& dataset,
                     std::vector<std::string>& warnings);

}  // namespace fluvial::scan
