// SPDX-License-Identifier: Apache-2.0
/// Attributes of groups and arrays of Zarr.
#pragma once

#include "fluvial/base/json.hpp"
#include "fluvial/describe/attribute.hpp"

namespace fluvial::store {

/// All members of an object; what Attribute cannot hold is text of JSON. Null: none. Throws
/// InvalidArgument where it is no object.
Attributes attributes_of(const Json* object);

}  // namespace fluvial::store
