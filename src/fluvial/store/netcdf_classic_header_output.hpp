// SPDX-License-Identifier: Apache-2.0
/// The header of a file of CDF-5 as bytes: axes, attributes, and where each variable lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/store/netcdf_classic_header.hpp"
#include "fluvial/store/record_layout.hpp"

namespace fluvial::store {

/// To the next multiple of four bytes.
std::uint64_t padded(std::uint64_t bytes);

/// A count as the header has it, such as that of records.
std::vector<std::byte> header_count(std::uint64_t count);

/// The header of a file that has no records yet. `begins` has the places of variables by name, 0
/// where it has none. Throws InvalidArgument for names and attributes that the format does not
/// have.
std::vector<std::byte> header_of(const RecordLayout& layout, const Attributes& of_series,
                                 const std::map<std::string, std::uint64_t>& begins);

}  // namespace fluvial::store
