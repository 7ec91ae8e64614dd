// SPDX-License-Identifier: Apache-2.0
/// An array of Zarr: a file for each chunk, or for each shard of several.
#pragma once

#include <memory>
#include <string>

#include "fluvial/store/file.hpp"
#include "fluvial/store/zarr/metadata.hpp"

namespace fluvial::store {

/// `folder` has the array's chunks; `store` is the path of the whole, for messages.
std::shared_ptr<const Dataset> open_zarr_array(const ZarrArray& array, std::string folder,
                                               const std::string& store);

}  // namespace fluvial::store
