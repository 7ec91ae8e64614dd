// SPDX-License-Identifier: Apache-2.0
/// Along which dimension several files are one.
#pragma once

#include <optional>
#include <string>

#include "fluvial/store/file.hpp"

namespace fluvial::scan {

/// The dimension along which files that begin with this one are joined: the unlimited one, or where
/// there is none the first one of the dataset with the most; "" where that has no name. As the file
/// calls it, with its group. None of files without dimensions. Local.
std::optional<std::string> joined_dimension(const store::File& first);

/// The first dimension of a dataset, likewise: of scalars none.
std::optional<std::string> first_dimension(const store::File& file, const store::Dataset& dataset);

}  // namespace fluvial::scan
