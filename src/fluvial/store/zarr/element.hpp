// SPDX-License-Identifier: Apache-2.0
/// Data types and fill values of Zarr in Fluvial's terms.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/json.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::store {

struct ZarrElement {
    std::optional<DType> dtype;  ///< none: no number; `why` says what it is
    bool boolean = false;        ///< true and false, as uint8
    bool big_endian = false;     ///< of version 2, whose data types say it
    std::string why = {};
};

/// Of "<f4" or a structure; of "float32" or an object. Throw InvalidArgument.
ZarrElement zarr2_element(const Json& data_type);
ZarrElement zarr3_element(const Json& data_type);

/// One element in native order. Null: zeros, as the format's library has it. Throws
/// InvalidArgument.
std::vector<std::byte> fill_of(const Json& fill_value, DType dtype);

/// The attribute _FillValue, which version 2 has no other word for than the fill value; none where
/// that says nothing of what is missing.
std::optional<Attribute> zarr2_missing(const Json& fill_value, const ZarrElement& element);
/// The same attribute of version 3: of floating-point numbers xarray writes their bytes in base64.
/// None where it is no such text.
std::optional<Attribute> zarr3_missing(const Attribute& said, DType dtype);

}  // namespace fluvial::store
