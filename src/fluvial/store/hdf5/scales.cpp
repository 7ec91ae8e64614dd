// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/scales.hpp"

#include <algorithm>
#include <cstddef>

#include "fluvial/store/hdf5/attributes.hpp"
#include "fluvial/store/hdf5/sequences.hpp"

namespace fluvial::store {

namespace {

constexpr hssize_t uses_max = 1 << 24;  ///< more is damage

/// An attribute that is open with its type; not valid when there is none of this name.
struct Open {
    Hdf5Id attribute, type, space;
    std::size_t count = 0;
    bool valid() const { return attribute.valid(); }
};

Open open_attribute(hid_t object, const char* name, const std::string& what) {
    Open open;
    if (hdf5_checked(H5Aexists(object, name), what) == 0) {
        return open;
    }
    open.attribute = Hdf5Id(hdf5_checked(H5Aopen(object, name, H5P_DEFAULT), what));
    open.type = Hdf5Id(hdf5_checked(H5Aget_type(open.attribute), what));
    open.space = Hdf5Id(hdf5_checked(H5Aget_space(open.attribute), what));
    const hssize_t count = hdf5_checked(H5Sget_simple_extent_npoints(open.space), what);
    if (count > uses_max) {
        throw DamagedFile(Problem{what, text(count, " entries of ", name), "", ""});
    }
    open.count = static_cast<std::size_t>(count);
    return open;
}

bool is_object_reference(hid_t type) {
    return H5Tget_class(type) == H5T_REFERENCE && H5Tequal(type, H5T_STD_REF_OBJ) > 0;
}

}  // namespace

std::optional<Scale> scale_of(hid_t dataset, const std::string& what) {
    if (text_attribute(dataset, "CLASS", what) != "DIMENSION_SCALE") {
        return std::nullopt;
    }
    Scale scale;
    const auto id = number_list(read_attribute(dataset, "_Netcdf4Dimid", what));
    if (id.size() == 1) {
        scale.netcdf_id = static_cast<int>(id.front());
    }
    constexpr std::string_view mark = "This is a netCDF dimension but not a netCDF variable";
    scale.without_variable = text_attribute(dataset, "NAME", what).starts_with(mark);
    return scale;
}

std::vector<haddr_t> attached_scales(hid_t dataset, const std::string& what) {
    const Open open = open_attribute(dataset, "DIMENSION_LIST", what);
    if (!open.valid() || H5Tget_class(open.type) != H5T_VLEN) {
        return {};
    }
    const Hdf5Id item(hdf5_checked(H5Tget_super(open.type), what));
    if (!is_object_reference(item)) {
        return {};
    }
    const std::size_t bytes = address_bytes(dataset);
    std::vector<haddr_t> scales;
    for (const auto& list : read_sequences(open.attribute, open.count, bytes, what)) {
        haddr_t address = 0;
        for (std::size_t i = std::min(bytes, list.size()); i-- > 0;) {
            address = address << 8 | std::to_integer<haddr_t>(list[i]);
        }
        scales.push_back(address);
    }
    return scales;
}

std::vector<ScaleUse> uses_of_scale(hid_t scale, const std::string& what) {
    const Open open = open_attribute(scale, "REFERENCE_LIST", what);
    if (!open.valid() || H5Tget_class(open.type) != H5T_COMPOUND ||
        H5Tget_nmembers(open.type) != 2) {
        return {};
    }
    const Hdf5Id first(hdf5_checked(H5Tget_member_type(open.type, 0), what));
    if (!is_object_reference(first)) {
        return {};
    }
    struct Entry {
        hobj_ref_t dataset;
        int axis;
    };
    const Hdf5Id memory(hdf5_checked(H5Tcreate(H5T_COMPOUND, sizeof(Entry)), what));
    hdf5_checked(H5Tinsert(memory, "dataset", offsetof(Entry, dataset), H5T_STD_REF_OBJ), what);
    hdf5_checked(H5Tinsert(memory, "dimension", offsetof(Entry, axis), H5T_NATIVE_INT), what);
    std::vector<Entry> entries(open.count);
    hdf5_checked(H5Aread(open.attribute, memory, entries.data()), what);
    std::vector<ScaleUse> uses;
    for (const Entry& entry : entries) {
        uses.push_back({entry.dataset, entry.axis});
    }
    return uses;
}

std::vector<std::string> axis_labels(hid_t dataset, const std::string& what) {
    return text_list(read_attribute(dataset, "DIMENSION_LABELS", what));
}

}  // namespace fluvial::store
