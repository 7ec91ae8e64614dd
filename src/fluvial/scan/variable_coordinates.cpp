// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/compute/decode.hpp"
#include "fluvial/scan/variable.hpp"

namespace fluvial::scan {
namespace {

/// All elements of a 1-D dataset, decoded, as float64; NaN where there is no value.
std::vector<double> read_decoded(const store::Dataset& dataset) {
    std::vector<std::string> ignored;
    const Decoding decoding =
        cf_decoding(dataset.attributes(), dataset.dtype(), dataset.name(), ignored);
    const DType dtype = decoding.stored(dataset.dtype());
    if (is_complex(dtype)) {
        throw InvalidArgument(Problem{text("'", dataset.name(), "' cannot be a coordinate"),
                                      std::string(name_of(dtype)), "integers and real numbers",
                                      ""});
    }
    compute::Array stored(dataset.dtype(), dataset.shape());
    dataset.read(whole(dataset.shape()),
                 {stored.bytes.data(), dataset.dtype(), dataset.shape(), stored.view().strides});
    compute::MissingValues missing(dtype);
    for (const StoredValue& value : decoding.missing) {
        missing.add(value.bytes);
    }
    const auto count = static_cast<std::size_t>(volume_of(dataset.shape()));
    std::vector<double> values(count);
    std::vector<std::uint8_t> included(count);
    compute::decode({stored.bytes.data(), dtype, dataset.shape()}, missing, true, decoding.scale,
                    decoding.offset,
                    {reinterpret_cast<std::byte*>(values.data()), DType::Float64, dataset.shape(),
                     contiguous_strides(dataset.shape(), sizeof(double))},
                    included.data());
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = included[i] != 0 ? values[i] : std::numeric_limits<double>::quiet_NaN();
    }
    return values;
}

/// The path up to its last slash.
std::string group_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// What parts of one coordinate say of their units where they do not say the same; else nothing.
std::string differing_units(const std::vector<DatasetPtr>& parts) {
    for (const char* const name : {"units", "calendar"}) {
        const auto said = [&](const DatasetPtr& part) {
            const auto found = part->attributes().find(name);
            const auto* words = found == part->attributes().end()
                                    ? nullptr
                                    : std::get_if<std::string>(&found->second);
            return words == nullptr ? std::string() : *words;
        };
        for (const DatasetPtr& part : parts) {
            if (said(part) != said(parts.front())) {
                return text(name, " '", said(part), "' beside '", said(parts.front()), "'");
            }
        }
    }
    return "";
}

}  // namespace

/// In the variable's own group, or further out; null where there is none.
DatasetPtr Variable::coordinate_in(std::size_t file, int axis) const {
    const auto& names = files_[file]->names();
    const std::string& dimension = dimensions_[static_cast<std::size_t>(axis)];
    const Coordinates extent{parts_[file]->shape()[axis]};
    std::string group = parts_[file]->name();
    do {
        group = group_of(group);
        const std::string name = group.empty() ? dimension : group + "/" + dimension;
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            DatasetPtr found = files_[file]->dataset(name);
            if (found->shape() == extent) {
                return found;
            }
        }
    } while (!group.empty());
    return nullptr;
}

/// One for each part that is joined along the axis; none unless all have one.
std::vector<DatasetPtr> Variable::coordinates_of(int axis) const {
    std::vector<DatasetPtr> found;
    for (std::size_t i = 0; i < files_.size() && (i == 0 || axis == 0); ++i) {
        found.push_back(coordinate_in(i, axis));
        if (found.back() == nullptr) {
            return {};
        }
    }
    return found;
}

std::vector<double> Variable::coordinate(const std::string& dimension) const {
    const int axis = axis_of(dimension);
    const std::vector<DatasetPtr> parts = coordinates_of(axis);
    if (parts.empty()) {
        const Coordinates shape = files_.front()->dataset(dimension)->shape();
        throw InvalidArgument(
            Problem{text("'", dimension, "' is no coordinate of '", parts_.front()->name(), "'"),
                    text("shape ", shape), "one dimension, as long as that of the variable", ""});
    }
    if (const std::string said = differing_units(parts); !said.empty()) {
        throw InvalidArgument(Problem{text("'", dimension, "' counts otherwise in each file"), said,
                                      "the same units and calendar",
                                      "Select by isel, or reduce the files one by one"});
    }
    std::vector<double> all;
    for (const DatasetPtr& part : parts) {
        const std::vector<double> values = read_decoded(*part);
        all.insert(all.end(), values.begin(), values.end());
    }
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
        const std::vector<DatasetPtr> parts = coordinates_of(static_cast<int>(axis));
        if (const std::string said = differing_units(parts); !said.empty()) {
            reduced.warnings.push_back(
                text("the coordinate '", dimension, "' is left out: files say ", said));
        } else if (!parts.empty()) {
            reduced.coordinates[dimension] = coordinate(dimension);
        }
    }
}

}  // namespace fluvial::scan
