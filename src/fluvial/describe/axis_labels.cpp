// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/axis_labels.hpp"

#include <algorithm>
#include <variant>

namespace fluvial {
namespace {

constexpr const char* axis_labels_name = "axisLabels";

bool good(const std::vector<std::string>& labels, int ndim) {
    const std::set<std::string> different(labels.begin(), labels.end());
    const auto count = static_cast<std::size_t>(ndim);
    return labels.size() == count && different.size() == count && !different.contains("");
}

/// The path up to its last slash.
std::string group_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

std::vector<std::string> axis_labels(int ndim, const Attributes& attributes) {
    std::vector<std::string> labels;
    if (const auto found = attributes.find(axis_labels_name); found != attributes.end()) {
        if (const auto* one = std::get_if<std::string>(&found->second)) {
            labels = {*one};
        } else if (const auto* many = std::get_if<std::vector<std::string>>(&found->second)) {
            labels = *many;
        }
    }
    if (text_of(attributes, "dataOrder") == "F") {
        std::reverse(labels.begin(), labels.end());  // attributes count axes from the last then
    }
    return good(labels, ndim) ? labels : std::vector<std::string>();
}

std::vector<std::string> axis_labels(const DatasetDescription& dataset) {
    const int ndim = dataset.shape.size();
    if (dataset.attributes.contains(axis_labels_name)) {
        return axis_labels(ndim, dataset.attributes);
    }
    return good(dataset.dimensions, ndim) ? dataset.dimensions : std::vector<std::string>();
}

void LabelledAxes::add(const std::string& name, const Coordinates& shape,
                       const std::vector<std::string>& labels) {
    std::string group = name;
    while (!group.empty()) {
        group = group_of(group);
        for (std::size_t axis = 0; axis < labels.size(); ++axis) {
            known_.emplace(group, labels[axis], shape[static_cast<int>(axis)]);
        }
    }
}

std::string LabelledAxes::label_of(const std::string& name, const Coordinates& shape) const {
    const std::string group = group_of(name);
    std::string own = name.substr(group.empty() ? 0 : group.size() + 1);
    return shape.size() == 1 && known_.contains({group, own, shape[0]}) ? own : "";
}

void label_by_name(std::vector<DatasetDescription>& datasets) {
    LabelledAxes axes;
    for (const DatasetDescription& dataset : datasets) {
        axes.add(dataset.name, dataset.shape, axis_labels(dataset));
    }
    for (DatasetDescription& dataset : datasets) {
        const std::string label = axes.label_of(dataset.name, dataset.shape);
        if (!label.empty() && axis_labels(dataset).empty()) {
            dataset.attributes.emplace(axis_labels_name, std::vector<std::string>{label});
        }
    }
}

}  // namespace fluvial
