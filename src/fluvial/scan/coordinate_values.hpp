// SPDX-License-Identifier: Apache-2.0
/// Coordinates in memory: the values of 1-D datasets, one or several that are joined.
#pragma once

#include <string>
#include <vector>

#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

/// All elements of a 1-D dataset, decoded, as float64; NaN where there is no value. Local,
/// blocking. Throws InvalidArgument for complex numbers.
std::vector<double> decoded_values(const store::Dataset& dataset);

/// What the first part says of its units that another one does not, where the numbers of the one
/// cannot be told as the other counts; else nothing. Times may count from another day.
std::string differing_units(const std::vector<DatasetPtr>& parts);

/// The values of all parts, as the first one counts them. Local, blocking. Throws InvalidArgument
/// where they have differing_units.
std::vector<double> joined_values(const std::vector<DatasetPtr>& parts);

/// Throws InvalidArgument unless a dataset has these values, which are those of `first`.
void check_same_values(const store::Dataset& dataset, const std::vector<double>& values,
                       const store::Dataset& first);

}  // namespace fluvial::scan
