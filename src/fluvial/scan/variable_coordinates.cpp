// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/regular_grid.hpp"
#include "fluvial/scan/coordinate_values.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/units.hpp"
#include "fluvial/scan/variable.hpp"
#include "fluvial/store/iterations.hpp"

namespace fluvial::scan {
namespace {

/// The path up to its last slash.
std::string group_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Nothing says that it is along another dimension.
bool is_along(const store::Dataset& coordinate, const std::string& dimension) {
    const auto& names = coordinate.dimensions();
    return names.empty() || names[0].empty() || names[0] == dimension;
}

}  // namespace

/// In the variable's own group, or further out; none where there is none.
std::optional<std::string> Variable::coordinate_of(int axis) const {
    const auto& names = files_->first().names();
    const std::string& dimension = dimensions_[static_cast<std::size_t>(axis)];
    const Coordinates extent{parts_.front()->shape()[axis]};
    const std::string own_group = group_of(parts_.front()->name());
    std::string group = parts_.front()->name();
    do {
        group = group_of(group);
        const std::string name = group.empty() ? dimension : group + "/" + dimension;
        if (std::find(names.begin(), names.end(), name) != names.end() &&
            is_along(*files_->first().dataset(name), dimension) &&
            files_->first().dataset(name)->shape() == extent &&
            shape_of_all(files_->parts_of(name))[0] == joined_shape({parts_, {}})[axis] &&
            !(group == own_group && store::is_record(files_->first(), group))) {
            return name;
        }
    } while (!group.empty());
    return std::nullopt;
}

/// As openPMD's attributes of the variable, of its group or of its step say.
std::optional<std::vector<double>> Variable::grid_along(int axis) const {
    if (parts_.size() > 1) {
        return std::nullopt;
    }
    const store::Dataset& part = *parts_.front();
    std::vector<Attributes> said = {part.attributes()};
    const std::string group = group_of(part.name());
    const auto& groups = files_->first().groups();
    if (std::find(groups.begin(), groups.end(), group) != groups.end()) {
        said.push_back(files_->first().group_attributes(group));
    }
    said.push_back(files_->first().attributes());
    return positions_along(axis, part.shape(), said);
}

std::vector<double> Variable::coordinate(const std::string& dimension) const {
    const int axis = axis_of(dimension);
    const auto name = coordinate_of(axis);
    const auto grid = name ? std::nullopt : grid_along(axis);
    if (!name && !grid) {
        const Coordinates shape = files_->first().dataset(dimension)->shape();
        throw InvalidArgument(
            Problem{text("'", dimension, "' is no coordinate of '", parts_.front()->name(), "'"),
                    text("shape ", shape), "one dimension, as long as that of the variable", ""});
    }
    const std::vector<double>& all = name ? files_->values_of(*name) : *grid;
    std::vector<double> selected;
    for (Index i = 0; i < selection_.count[axis]; ++i) {
        selected.push_back(
            all[static_cast<std::size_t>(selection_.start[axis] + i * selection_.stride[axis])]);
    }
    return selected;
}

void Variable::keep_coordinates(const std::vector<std::string>& over, Reduced& reduced) const {
    for (std::size_t axis = 0; axis < dimensions_.size() && !over.empty(); ++axis) {
        const std::string& dimension = dimensions_[axis];
        if (std::find(over.begin(), over.end(), dimension) != over.end()) {
            continue;
        }
        reduced.dimensions.push_back(dimension);
        const auto name = coordinate_of(static_cast<int>(axis));
        const std::string said = name ? differing_units(files_->parts_of(*name)) : "";
        if (!said.empty()) {
            reduced.warnings.push_back(
                text("the coordinate '", dimension, "' is left out: files say ", said));
        } else if (name || grid_along(static_cast<int>(axis))) {
            reduced.coordinates[dimension] = coordinate(dimension);
        }
    }
}

/// All coordinates of several files are read, to see that they agree.
void Variable::check_files(std::vector<std::string>& warnings) const {
    for (int axis = 0; files_->files().size() > 1 && axis < selection_.ndim(); ++axis) {
        const auto name = coordinate_of(axis);
        if (name && files_->parts_of(*name).size() == 1) {
            files_->values_of(*name);
        }
    }
    if (std::string said = out_of_order(); !said.empty()) {
        warnings.push_back(std::move(said));
    }
}

/// What is damaged is said where it is wanted.
std::string Variable::out_of_order() const {
    if (parts_.size() == 1 || selection_.count[0] == 0) {
        return "";
    }
    const Index begin = selection_.start[0];
    const Index end = begin + (selection_.count[0] - 1) * selection_.stride[0] + 1;
    try {
        const auto name = coordinate_of(0);
        return name ? files_->out_of_order(*name, begin, end) : "";
    } catch (const Error&) {
        return "";
    }
}

}  // namespace fluvial::scan
