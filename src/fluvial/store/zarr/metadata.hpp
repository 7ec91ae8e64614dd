// SPDX-License-Identifier: Apache-2.0
/// What the metadata of one array of Zarr say, of either version.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/json.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/store/layout.hpp"
#include "fluvial/store/zarr/sharding.hpp"

namespace fluvial::store {

/// How the path of a chunk, or of a shard, below its array is made of its place in the grid.
struct ZarrChunkKeys {
    bool prefixed = false;  ///< "c/1/0", or "c" of a scalar; otherwise "1/0", and "0"
    char separator = '.';

    std::string of(const Coordinates& chunk) const;
};

struct ZarrArray {
    DatasetDescription description;
    Chunked layout;
    ZarrChunkKeys keys;
    std::optional<ZarrShards> shards = {};  ///< whose files they are; none: each chunk has its own
    std::string no_numbers = {};  ///< of what data type it is that Fluvial has not; then nothing
                                  ///< else is said
};

/// `array` is .zarray and `attributes` is .zattrs, null where there is none; or both are zarr.json.
/// Throw UnsupportedZarr, and InvalidArgument for all that makes no sense.
ZarrArray zarr2_array(const std::string& name, const Json& array, const Json* attributes);
ZarrArray zarr3_array(const std::string& name, const Json& array);

}  // namespace fluvial::store
