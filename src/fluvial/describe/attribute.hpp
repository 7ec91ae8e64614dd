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

/// Whether they say the same. Unlike by ==, NaN says what NaN says: it is missing values' usual
/// mark.
bool say_the_same(const Attribute& one, const Attribute& other);
bool say_the_same(const Attributes& one, const Attributes& other);

void encode(ByteWriter& out, const Attributes& attributes);
Attributes decode_attributes(ByteReader& in);

}  // namespace fluvial
