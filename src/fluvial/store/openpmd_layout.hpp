// SPDX-License-Identifier: Apache-2.0
/// Where openPMD 1.1 puts what a series says, and what it asks for beside that.
///
/// Source: Huebl et al., "openPMD: A meta data standard for particle and mesh based data", version
/// 1.1.0, doi:10.5281/zenodo.1167843.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/store/output.hpp"

namespace fluvial::store {

/// The objects of an iteration by their paths in it, and their attributes.
struct OpenPmdLayout {
    std::map<std::string, Attributes> groups;  ///< records and species; "" is the iteration itself
    std::vector<DatasetDescription> datasets;  ///< in the order of the step's
    /// Components that have one value everywhere: the attribute `value`.
    std::vector<DatasetDescription> constants;
};

/// The attributes of a file's root: what was said, and what openPMD asks for. `pattern` is that of
/// the names of files of one iteration each; without it all are in one file.
Attributes openpmd_series_attributes(const Attributes& said,
                                     const std::optional<std::string>& pattern);

/// Whether openPMD has this attribute as one value. Of others a list of one value is a list, such
/// as the axisLabels of a mesh of one axis.
bool openpmd_has_one(std::string_view attribute);

/// What an iteration consists of. Attributes that belong to a record, such as unitDimension and
/// gridSpacing, are given with any of its components. `series` are the attributes of the root.
/// Throws InvalidArgument where components of one record differ in what belongs to the record, or a
/// name is that of a dataset and of a group.
OpenPmdLayout openpmd_layout(const StepContents& step, const Attributes& series);

}  // namespace fluvial::store
