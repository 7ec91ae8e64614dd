// SPDX-License-Identifier: Apache-2.0
/// Attributes of groups and datasets of HDF5.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// All that Attribute can hold; compounds, references and the like are left out, and so are those
/// with which HDF5 and netCDF-4 keep their own books (dimension scales, provenance). `what` opens
/// messages: "'E/x' of 'a.h5'".
Attributes read_attributes(hid_t object, const std::string& what);
/// One of them, whether it is hidden or not; none when it is absent or of no type of ours.
std::optional<Attribute> read_attribute(hid_t object, const std::string& name,
                                        const std::string& what);
/// Empty when it is absent or no text.
std::string text_attribute(hid_t object, const std::string& name, const std::string& what);
/// Texts, whether one or several.
std::vector<std::string> text_list(const std::optional<Attribute>& attribute);
/// Whole numbers, whether one or several.
std::vector<std::int64_t> number_list(const std::optional<Attribute>& attribute);

}  // namespace fluvial::store
