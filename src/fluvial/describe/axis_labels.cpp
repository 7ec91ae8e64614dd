// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/axis_labels.hpp"

#include <set>
#include <tuple>
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
    return good(labels, ndim) ? labels : std::vector<std::string>();
}

std::vector<std::string> axis_labels(const DatasetDescription& dataset) {
    const int ndim = dataset.shape.size();
    if (dataset.attributes.contains(axis_labels_name)) {
        return axis_labels(ndim, dataset.attributes);
    }
    return good(dataset.dimensions, ndim) ? dataset.dimensions : std::vector<std::string>();
}

void label_by_name(std::vector<DatasetDescription>& datasets) {
    std::set<std::tuple<std::string, std::string, Index>> axes;  // group, name and length
    for (const DatasetDescription& dataset : datasets) {
        const std::vector<std::string> labels = axis_labels(dataset);
        std::string group = dataset.name;
        while (!group.empty()) {
            group = group_of(group);
            for (std::size_t axis = 0; axis < labels.size(); ++axis) {
                axes.emplace(group, labels[axis], dataset.shape[static_cast<int>(axis)]);
            }
        }
    }
    for (DatasetDescription& dataset : datasets) {
        const std::string group = group_of(dataset.name);
        const std::string name = dataset.name.substr(group.empty() ? 0 : group.size() + 1);
        if (dataset.shape.size() == 1 && axis_labels(dataset).empty() &&
            axes.contains({group, name, dataset.shape[0]})) {
            dataset.attributes.emplace(axis_labels_name, std::vector<std::string>{name});
        }
    }
}

}  // namespace fluvial
