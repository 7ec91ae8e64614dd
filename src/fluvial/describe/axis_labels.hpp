// SPDX-License-Identifier: Apache-2.0
/// Names of axes, as openPMD's attribute axisLabels says.
#pragma once

#include <string>
#include <vector>

#include "fluvial/describe/dataset.hpp"

namespace fluvial {

/// A name for each of `ndim` axes, all of them different; none where the attributes do not say so.
std::vector<std::string> axis_labels(int ndim, const Attributes& attributes);

/// The same of a dataset, by its attributes, or else by its dimensions.
std::vector<std::string> axis_labels(const DatasetDescription& dataset);

/// Adds axisLabels to datasets of a step that are coordinates by their names alone: of one axis,
/// without a label, and called like an axis of that length of another dataset, in the same group or
/// further in. So files have them as coordinates, too.
void label_by_name(std::vector<DatasetDescription>& datasets);

}  // namespace fluvial
