// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/scale_output.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/objects.hpp"

namespace fluvial::store {
namespace {

constexpr std::array<std::string_view, 8> of_scales = {
    "CLASS",         "NAME",          "DIMENSION_LIST",      "REFERENCE_LIST",
    "_Netcdf4Dimid", "_NCProperties", "_Netcdf4Coordinates", "_nc3_strict"};

hobj_ref_t reference_to(hid_t object, const std::string& path) {
    hobj_ref_t reference = 0;
    written(H5Rcreate(&reference, object, ".", H5R_OBJECT, -1), path);
    return reference;
}

/// A text that ends at a NUL, as H5DS writes its own.
void write_text(hid_t object, const std::string& name, const std::string& value,
                const std::string& path) {
    const Hdf5Id type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type, value.size() + 1);
    write_hdf5_attribute(object, name, type, {}, value.c_str(), path);
}

}  // namespace

void write_hdf5_scale(hid_t dataset, const std::string& name, const std::string& path) {
    write_text(dataset, "CLASS", "DIMENSION_SCALE", path);
    write_text(dataset, "NAME", name, path);
}

void check_scale_attributes(const Attributes& attributes, const std::string& owner) {
    for (const std::string_view name : of_scales) {
        if (attributes.contains(std::string(name))) {
            throw InvalidArgument(Problem{
                "an attribute of " + owner + " has a name that netCDF-4 needs itself",
                "'" + std::string(name) + "'",
                "any but CLASS, NAME, DIMENSION_LIST, REFERENCE_LIST and those of netCDF-4 itself",
                "Call it something else"});
        }
    }
}

void ScaleUses::attach(hid_t dataset, const std::vector<hid_t>& scales, const std::string& path) {
    std::vector<hobj_ref_t> references;
    std::vector<hvl_t> lists;
    references.reserve(scales.size());  // lists point into it
    const hobj_ref_t itself = reference_to(dataset, path);
    for (std::size_t axis = 0; axis < scales.size(); ++axis) {
        references.push_back(reference_to(scales[axis], path));
        lists.push_back({1, &references.back()});
        uses_[scales[axis]].push_back({itself, static_cast<std::int32_t>(axis)});
    }
    const Hdf5Id type(H5Tvlen_create(H5T_STD_REF_OBJ));
    write_hdf5_attribute(dataset, "DIMENSION_LIST", type, {static_cast<Index>(lists.size())},
                         lists.data(), path);
}

void ScaleUses::write(const std::string& path) const {
    const Hdf5Id type(H5Tcreate(H5T_COMPOUND, sizeof(Use)));
    H5Tinsert(type, "dataset", offsetof(Use, dataset), H5T_STD_REF_OBJ);
    H5Tinsert(type, "dimension", offsetof(Use, axis), H5T_NATIVE_INT32);
    for (const auto& [scale, uses] : uses_) {
        write_hdf5_attribute(scale, "REFERENCE_LIST", type, {static_cast<Index>(uses.size())},
                             uses.data(), path);
    }
}

}  // namespace fluvial::store
