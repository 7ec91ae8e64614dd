// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/dimensions.hpp"

#include <algorithm>

#include "fluvial/store/hdf5/attributes.hpp"

namespace fluvial::store {

namespace {

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string quoted(const Hdf5Entry& entry) {
    return "'" + entry.name + "'";
}

}  // namespace

Hdf5Dimensions::Hdf5Dimensions(hid_t file, const std::vector<Hdf5Entry>& entries, bool netcdf)
    : netcdf_(netcdf) {
    std::map<haddr_t, const Hdf5Entry*> datasets;
    std::vector<const Hdf5Entry*> scales;
    for (const Hdf5Entry& entry : entries) {
        datasets.emplace(entry.address, &entry);
        damaged_ = damaged_ || entry.damaged;
        if (entry.scale &&
            by_address_.emplace(entry.address, Known{last_part(entry.name), 0}).second) {
            scales.push_back(&entry);
            netcdf_ = netcdf_ || entry.scale->netcdf_id || entry.scale->without_variable;
        }
    }
    std::stable_sort(scales.begin(), scales.end(), [](const auto* a, const auto* b) {
        return a->scale->netcdf_id.value_or(0) < b->scale->netcdf_id.value_or(0);
    });
    for (const Hdf5Entry* scale : scales) {
        const Hdf5Shape& shape = scale->shape;
        const bool unlimited = !shape.unlimited.empty() && shape.unlimited[0];
        Index length = shape.extent.empty() ? 1 : shape.extent[0];
        std::vector<ScaleUse> uses;
        if (netcdf_ && unlimited) {
            // As long as the longest variable along it; a scale without variable does not count.
            const Hdf5Id object(hdf5_checked(open_inside(file, scale->path), quoted(*scale)));
            uses = uses_of_scale(object, quoted(*scale));
            Index longest = scale->scale->without_variable ? 0 : length;
            for (const ScaleUse& use : uses) {
                const auto user = datasets.find(use.dataset);
                if (user != datasets.end() && use.axis >= 0 &&
                    use.axis < user->second->shape.extent.size()) {
                    longest = std::max(longest, user->second->shape.extent[use.axis]);
                }
            }
            length = longest;
        }
        for (const ScaleUse& use : uses) {
            const auto user = datasets.find(use.dataset);
            if (user != datasets.end() && use.axis >= 0 &&
                use.axis < user->second->shape.extent.size() &&
                user->second->shape.extent[use.axis] < length) {
                auto& shape_to_be =
                    longer_.try_emplace(use.dataset, user->second->shape.extent).first->second;
                shape_to_be[use.axis] = length;
            }
        }
        by_address_[scale->address].length = length;
        if (scale->scale->netcdf_id) {
            by_netcdf_id_.emplace(*scale->scale->netcdf_id, scale->address);
        }
        list_.push_back({scale->name, length, unlimited});
    }
}

Coordinates Hdf5Dimensions::shape_of(const Hdf5Entry& entry) const {
    const auto longer = longer_.find(entry.address);
    return longer == longer_.end() ? entry.shape.extent : longer->second;
}

std::vector<std::string> Hdf5Dimensions::names_of(const Hdf5Entry& entry, hid_t object) const {
    const auto ndim = static_cast<std::size_t>(entry.shape.extent.size());
    std::vector<std::string> names(ndim);
    if (entry.constant) {
        return names;
    }
    const auto name_at = [&](std::size_t axis, haddr_t address) {
        if (const auto known = by_address_.find(address); known != by_address_.end()) {
            names[axis] = known->second.name;
        } else if (netcdf_ && damaged_) {
            throw DamagedFile(Problem{quoted(entry) + " has a dimension that cannot be opened",
                                      text("axis ", axis), "", "Copy or write the file again"});
        }
    };
    if (entry.scale) {
        const auto ids = number_list(read_attribute(object, "_Netcdf4Coordinates", quoted(entry)));
        for (std::size_t axis = 0; axis < ndim && ids.size() == ndim; ++axis) {
            const auto known = by_netcdf_id_.find(static_cast<int>(ids[axis]));
            if (known != by_netcdf_id_.end()) {
                name_at(axis, known->second);
            }
        }
        if (ndim > 0 && names[0].empty()) {
            name_at(0, entry.address);
        }
        return names;
    }
    const auto scales = attached_scales(object, quoted(entry));
    const auto labels =
        scales.empty() ? axis_labels(object, quoted(entry)) : std::vector<std::string>();
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        if (axis < scales.size()) {
            name_at(axis, scales[axis]);
        } else if (axis < labels.size()) {
            names[axis] = labels[axis];
        }
    }
    return names;
}

std::vector<std::string> openpmd_axis_labels(hid_t file, const Hdf5Entry& entry, hid_t object) {
    const auto labels_on = [&](hid_t where) {
        auto labels = text_list(read_attribute(where, "axisLabels", quoted(entry)));
        // dataOrder "F": the attributes of the axes come fastest axis first.
        if (text_attribute(where, "dataOrder", quoted(entry)) == "F") {
            std::reverse(labels.begin(), labels.end());
        }
        return labels;
    };
    auto labels = labels_on(object);
    const std::size_t slash = entry.path.rfind('/');
    if (labels.empty() && slash != std::string::npos) {
        const Hdf5Id record(open_inside(file, entry.path.substr(0, slash)));
        if (record.valid()) {
            labels = labels_on(record);
        }
    }
    return labels;
}

}  // namespace fluvial::store
