// SPDX-License-Identifier: Apache-2.0
/// The codec sharding_indexed of Zarr 3: files that hold several chunks each.
#pragma once

#include "fluvial/base/json.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial::store {

struct ZarrShards {
    Coordinates chunks;  ///< of each shard, along each axis
    bool index_first = false;
    bool big_endian = false;  ///< the index
    bool checksum = false;    ///< CRC-32C behind the index
};

/// The options of this codec where it is the only one; null otherwise. Throws InvalidArgument.
const Json* sharding_of(const Json& codecs);
/// `chunk`: of the options, which must divide `shard`. Throws UnsupportedZarr, InvalidArgument.
ZarrShards shards_of(const Json& options, const Coordinates& shard, const Coordinates& chunk);

}  // namespace fluvial::store
