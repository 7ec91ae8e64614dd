// SPDX-License-Identifier: Apache-2.0
/// Which axis of a file is that of its records, and how many of them are complete.
#pragma once

#include <optional>
#include <string>

#include "fluvial/store/file.hpp"

namespace fluvial::scan {

/// As the name of a dimension: unlimited first axes that have none.
inline constexpr const char* unnamed_records = "";

/// The dimension whose places are the steps: the unlimited one, or that of time. `unnamed`: else
/// unlimited first axes without a name, as programs make them that name no axes. Local. Throws
/// InvalidArgument where several could be meant.
std::optional<std::string> record_dimension(const store::File& file, bool unnamed);

/// What the file calls a dimension of a dataset: that of the nearest group outwards. A dataset in a
/// group calls it by its last name, `own`.
std::string path_of(const store::File& file, const store::Dataset& dataset, const std::string& own);

/// The axis of a dataset of the file along such a dimension. Local.
std::optional<int> axis_along(const store::File& file, const store::Dataset& dataset,
                              const std::string& dimension);

/// How many records there are. Of a file that is being written, how many are complete: all datasets
/// have them, and of the last one each chunk is stored. Local. Throws InvalidArgument where there
/// is no such dimension, DamagedFile where a complete file has more records of one dataset than of
/// another.
Index records_along(const store::File& file, const std::string& dimension);

/// How many records all datasets have of which each chunk is stored. Local.
Index stored_along(const store::File& file, const std::string& dimension);

/// How many records the dataset that has the most of them has room for. Local.
Index places_along(const store::File& file, const std::string& dimension);

}  // namespace fluvial::scan
