// SPDX-License-Identifier: Apache-2.0
/// Codecs of Zarr as filters of chunks.
#pragma once

#include <vector>

#include "fluvial/base/json.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

struct ZarrCodecs {
    std::vector<Filter> filters;  ///< in the order in which the writer applied them
    bool big_endian = false;
};

/// What the members `order`, `filters` and `compressor` of an array of version 2 say; its byte
/// order stands elsewhere. Throws UnsupportedZarr, InvalidArgument.
std::vector<Filter> zarr2_filters(const Json& array, int ndim);
/// The codecs of version 3. Throws UnsupportedZarr, InvalidArgument.
ZarrCodecs zarr3_codecs(const Json& codecs, int ndim, DType dtype);

}  // namespace fluvial::store
