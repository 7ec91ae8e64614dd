// SPDX-License-Identifier: Apache-2.0
/// Names of axes, as openPMD's attribute axisLabels says.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fluvial/describe/dataset.hpp"

namespace fluvial {

/// A name for each of `ndim` axes, all of them different; none where the attributes do not say so.
/// With openPMD's dataOrder "F" they say it from the last axis on.
std::vector<std::string> axis_labels(int ndim, const Attributes& attributes);

/// The same of a dataset, by its attributes, or else by its dimensions.
std::vector<std::string> axis_labels(const DatasetDescription& dataset);

/// The labelled axes of the datasets of a step, which tell what is a coordinate by its name alone.
class LabelledAxes {
  public:
    void add(const std::string& name, const Coordinates& shape,
             const std::vector<std::string>& labels);
    /// The label of a dataset that has none: its own name, where it has one axis and is called like
    /// an axis of that length of another dataset, in the same group or further in; else "".
    std::string label_of(const std::string& name, const Coordinates& shape) const;

  private:
    std::set<std::tuple<std::string, std::string, Index>> known_;  ///< group, label and length
};

/// Adds axisLabels to datasets of a step that are coordinates by their names alone (LabelledAxes).
/// So files have them as coordinates, too.
void label_by_name(std::vector<DatasetDescription>& datasets);

}  // namespace fluvial
