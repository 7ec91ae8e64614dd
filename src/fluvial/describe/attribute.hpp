// SPDX-License-Identifier: Apache-2.0
/// Attributes: what openPMD, netCDF and HDF5 hang on series, steps and datasets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/base/bytes.hpp"

namespace fluvial {

/// The order of the alternatives is part of the staging format: append only.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

void encode(ByteWriter& out, const Attributes& attributes);
Attributes decode_attributes(ByteReader& in);

}  // namespace fluvial
