// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/attributes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "fluvial/store/hdf5/element.hpp"
#include "fluvial/store/hdf5/sequences.hpp"
#include "fluvial/store/hdf5/virtual_sources.hpp"
#include "fluvial/store/openpmd_layout.hpp"
#include "fluvial/store/text_encoding.hpp"

namespace fluvial::store {

namespace {

/// No attribute is that long; a count above it is damage.
constexpr hssize_t elements_max = hssize_t{1} << 28;

constexpr std::array<std::string_view, 8> always_hidden = {
    "DIMENSION_LIST",      "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
    "_Netcdf4Coordinates", "_nc3_strict",    "_NCProperties",    parts_required};

struct Reader {
    Hdf5Id attribute;
    Hdf5Id type;
    std::size_t count = 0;
    bool a_list = false;  ///< even of one element
    std::string what;

    template <class T>
    std::vector<T> values(hid_t memory_type) const {
        std::vector<T> read(count);
        if (count > 0) {
            hdf5_checked(H5Aread(attribute, memory_type, read.data()), what);
        }
        return read;
    }
    bool one() const { return count == 1 && !a_list; }

    template <class T>
    Attribute one_or_more(std::vector<T> values) const {
        if (one()) {
            return std::move(values.front());
        }
        return values;
    }
};

/// Of a file of openPMD a list of one element is told from an element, as the programs that write
/// them do. Elsewhere, as in netCDF, one element is a scalar however it is written.
bool is_a_list(hid_t object, const std::string& name, hid_t space) {
    return H5Sget_simple_extent_type(space) == H5S_SIMPLE && !openpmd_has_one(name) &&
           H5Aexists_by_name(object, "/", "openPMD", H5P_DEFAULT) > 0;
}

Attribute whole_numbers(const Reader& from) {
    if (H5Tget_sign(from.type) == H5T_SGN_NONE) {
        const auto values = from.values<std::uint64_t>(H5T_NATIVE_UINT64);
        return from.one() ? attribute_of(values.front()) : attribute_of(values);
    }
    return from.one_or_more(from.values<std::int64_t>(H5T_NATIVE_INT64));
}

Attribute booleans(const Reader& from) {
    const auto values = from.values<std::int8_t>(from.type);
    if (from.one()) {
        return values.front() != 0;
    }
    return std::vector<std::int64_t>(values.begin(), values.end());
}

std::vector<std::string> fixed_texts(const Reader& from) {
    const std::size_t length = H5Tget_size(from.type);
    if (length > static_cast<std::size_t>(elements_max) / std::max<std::size_t>(from.count, 1)) {
        throw DamagedFile(Problem{from.what, text(length, " bytes of text"), "", ""});
    }
    std::vector<char> all(from.count * length);
    if (!all.empty()) {
        hdf5_checked(H5Aread(from.attribute, from.type, all.data()), from.what);
    }
    const bool spaces = H5Tget_strpad(from.type) == H5T_STR_SPACEPAD;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < from.count; ++i) {
        std::string_view one(all.data() + i * length, length);
        one = one.substr(0, one.find('\0'));
        if (spaces) {
            one = one.substr(0, one.find_last_not_of(' ') + 1);
        }
        texts.push_back(to_utf8(std::string(one)));
    }
    return texts;
}

std::vector<std::string> variable_texts(const Reader& from) {
    std::vector<std::string> texts;
    for (const auto& bytes : read_sequences(from.attribute, from.count, 1, from.what)) {
        const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        texts.push_back(to_utf8(std::string(all.substr(0, all.find('\0')))));
    }
    return texts;
}

std::optional<Attribute> value_of(const Reader& from) {
    switch (H5Tget_class(from.type)) {
        case H5T_INTEGER:
            return whole_numbers(from);
        case H5T_FLOAT:
            return from.one_or_more(from.values<double>(H5T_NATIVE_DOUBLE));
        case H5T_ENUM:
            return element_of(from.type).boolean ? std::optional(booleans(from)) : std::nullopt;
        case H5T_STRING:
            return from.one_or_more(H5Tis_variable_str(from.type) > 0 ? variable_texts(from)
                                                                      : fixed_texts(from));
        default:
            return std::nullopt;
    }
}

herr_t keep_name(hid_t, const char* name, const H5A_info_t*, void* to) {
    try {
        static_cast<std::vector<std::string>*>(to)->emplace_back(name);
        return 0;
    } catch (...) {
        return -1;
    }
}

}  // namespace

std::optional<Attribute> read_attribute(hid_t object, const std::string& name,
                                        const std::string& what) {
    const std::string subject = "attribute '" + name + "' of " + what + " cannot be read";
    if (hdf5_checked(H5Aexists(object, name.c_str()), subject) == 0) {
        return std::nullopt;
    }
    Reader reader;
    reader.what = subject;
    reader.attribute = Hdf5Id(hdf5_checked(H5Aopen(object, name.c_str(), H5P_DEFAULT), subject));
    reader.type = Hdf5Id(hdf5_checked(H5Aget_type(reader.attribute), subject));
    const Hdf5Id space(hdf5_checked(H5Aget_space(reader.attribute), subject));
    if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        // netCDF-4 writes an empty text so.
        return H5Tget_class(reader.type) == H5T_STRING ? std::optional<Attribute>(std::string())
                                                       : std::nullopt;
    }
    const hssize_t count = hdf5_checked(H5Sget_simple_extent_npoints(space), subject);
    if (count > elements_max) {
        throw DamagedFile(Problem{subject, text(count, " elements"), "", ""});
    }
    reader.count = static_cast<std::size_t>(count);
    reader.a_list = is_a_list(object, name, space);
    return value_of(reader);
}

Attributes read_attributes(hid_t object, const std::string& what) {
    std::vector<std::string> names;
    hsize_t position = 0;
    hdf5_checked(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &position, &keep_name, &names),
                 "the attributes of " + what + " cannot be read");
    Attributes attributes;
    for (const std::string& name : names) {
        if (std::find(always_hidden.begin(), always_hidden.end(), name) != always_hidden.end()) {
            continue;
        }
        if (auto value = read_attribute(object, name, what)) {
            attributes.emplace(to_utf8(name), std::move(*value));
        }
    }
    const auto scale = attributes.find("CLASS");
    if (scale != attributes.end() && scale->second == Attribute(std::string("DIMENSION_SCALE"))) {
        attributes.erase(scale);
        attributes.erase("NAME");
    }
    return attributes;
}

std::string text_attribute(hid_t object, const std::string& name, const std::string& what) {
    const auto value = read_attribute(object, name, what);
    const auto* one = value ? std::get_if<std::string>(&*value) : nullptr;
    return one == nullptr ? "" : *one;
}

std::vector<std::string> text_list(const std::optional<Attribute>& attribute) {
    if (!attribute) {
        return {};
    }
    if (const auto* one = std::get_if<std::string>(&*attribute)) {
        return {*one};
    }
    const auto* several = std::get_if<std::vector<std::string>>(&*attribute);
    return several == nullptr ? std::vector<std::string>() : *several;
}

std::vector<std::int64_t> number_list(const std::optional<Attribute>& attribute) {
    if (!attribute) {
        return {};
    }
    if (const auto* one = std::get_if<std::int64_t>(&*attribute)) {
        return {*one};
    }
    const auto* several = std::get_if<std::vector<std::int64_t>>(&*attribute);
    return several == nullptr ? std::vector<std::int64_t>() : *several;
}

}  // namespace fluvial::store
