// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/metadata.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/text_encoding.hpp"
#include "fluvial/store/zarr/attributes.hpp"
#include "fluvial/store/zarr/codecs.hpp"
#include "fluvial/store/zarr/element.hpp"
#include "fluvial/store/zarr/unsupported.hpp"

namespace fluvial::store {
namespace {

constexpr const char* dimensions_attribute = "_ARRAY_DIMENSIONS";
constexpr const char* missing_attribute = "_FillValue";
constexpr std::uint64_t array_bytes_max = std::uint64_t{1} << 62;
constexpr std::uint64_t zarr_chunk_bytes_max = std::uint64_t{1} << 40;

const Json& member(const Json& object, const char* name) {
    const Json* const found = object.find(name);
    if (found == nullptr) {
        throw InvalidArgument(text("the metadata of an array have no ", name));
    }
    return *found;
}

Coordinates extents_of(const Json& list, const char* what, Index least) {
    const Json::List& values = list.list(what);
    if (values.size() > static_cast<std::size_t>(ndim_max)) {
        throw UnsupportedZarr(text(values.size(), " dimensions"), text("up to ", ndim_max));
    }
    Coordinates extents;
    for (const Json& value : values) {
        extents.push_back(value.integer(what));
        if (extents[extents.size() - 1] < least) {
            throw InvalidArgument(Problem{text(what, " is out of range"), text(extents),
                                          text(least, " or more along each axis"), ""});
        }
    }
    return extents;
}

void check_bytes(const Coordinates& extents, DType dtype, std::uint64_t most, const char* what) {
    const auto bytes = bytes_of(extents, size_of(dtype));
    if (!bytes || *bytes > most) {
        throw InvalidArgument(
            Problem{text(what, " is out of range"), text(name_of(dtype), " of ", extents),
                    text("up to ", most, " bytes, no matter which extents are 0"), ""});
    }
}

/// Empty ones where there are not as many names as axes.
std::vector<std::string> dimension_names(const Json* list, int ndim) {
    const auto count = static_cast<std::size_t>(ndim);
    std::vector<std::string> names(count);
    const auto* const said = list == nullptr ? nullptr : std::get_if<Json::List>(&list->value());
    for (std::size_t i = 0; said != nullptr && said->size() == count && i < count; ++i) {
        const auto* const name = std::get_if<std::string>(&(*said)[i].value());
        names[i] = name == nullptr ? "" : to_utf8(*name);
    }
    return names;
}

bool is_separator(const std::string& word) {
    return word == "." || word == "/";
}

char separator_of(const Json* said, char otherwise) {
    if (said == nullptr) {
        return otherwise;
    }
    const std::string& word = said->string("the separator of chunk keys");
    if (!is_separator(word)) {
        throw InvalidArgument(
            Problem{"the separator of chunk keys is none", "'" + word + "'", ". or /", ""});
    }
    return word[0];
}

ZarrChunkKeys keys_of(const Json& encoding) {
    const auto* const alone = std::get_if<std::string>(&encoding.value());
    const std::string& name =
        alone != nullptr ? *alone : member(encoding, "name").string("chunk_key_encoding");
    if (name != "default" && name != "v2") {
        throw UnsupportedZarr("chunk_key_encoding '" + name + "'", "default, v2");
    }
    const bool prefixed = name == "default";
    const Json* const options = encoding.find("configuration");
    const Json* const separator = options == nullptr ? nullptr : options->find("separator");
    return {prefixed, separator_of(separator, prefixed ? '/' : '.')};
}

const Json& chunk_shape_of(const Json& grid) {
    const std::string& name = member(grid, "name").string("chunk_grid");
    if (name != "regular") {
        throw UnsupportedZarr("chunk_grid '" + name + "'", "regular");
    }
    return member(member(grid, "configuration"), "chunk_shape");
}

/// Extensions that a reader must know.
void check_extensions(const Json& array) {
    constexpr std::array<std::string_view, 11> known = {
        "zarr_format",         "node_type",  "shape",  "data_type",  "chunk_grid",
        "chunk_key_encoding",  "fill_value", "codecs", "attributes", "dimension_names",
        "storage_transformers"};
    for (const auto& [name, value] : array.members("the metadata of an array")) {
        const Json* const must = value.find("must_understand");
        const bool may_be_ignored = must != nullptr &&
                                    std::holds_alternative<bool>(must->value()) &&
                                    !std::get<bool>(must->value());
        if (!may_be_ignored && std::find(known.begin(), known.end(), name) == known.end()) {
            throw UnsupportedZarr("the extension '" + name + "'", "none that must be understood");
        }
    }
    if (const Json* const transformers = array.find("storage_transformers");
        transformers != nullptr && !transformers->list("storage_transformers").empty()) {
        throw UnsupportedZarr("storage_transformers", "none");
    }
}

/// What both versions have in common, once they have said it.
ZarrArray array_of(const std::string& name, const ZarrElement& element, const Coordinates& shape,
                   const Coordinates& chunk, const Json& fill_value) {
    if (chunk.size() != shape.size()) {
        throw InvalidArgument(Problem{"chunks have another number of axes than the array",
                                      text(chunk), text(shape.size()), ""});
    }
    ZarrArray array;
    array.description.name = name;
    array.description.dtype = *element.dtype;
    array.description.shape = shape;
    array.layout.chunk = chunk;
    array.layout.fill = fill_of(fill_value, *element.dtype);
    check_bytes(shape, *element.dtype, array_bytes_max, "the shape of an array");
    check_bytes(chunk, *element.dtype, zarr_chunk_bytes_max, "the shape of chunks");
    return array;
}

ZarrArray without_numbers(const ZarrElement& element) {
    ZarrArray array;
    array.no_numbers = element.why;
    return array;
}

void set_byte_order(bool big_endian, ZarrArray& array) {
    const DType dtype = array.description.dtype;
    const bool swapped_if_big = big_endian_is_swapped(dtype);
    array.layout.swapped = size_of(dtype) > 1 && big_endian == swapped_if_big;
}

}  // namespace

std::string ZarrChunkKeys::of(const Coordinates& chunk) const {
    std::string key = prefixed ? "c" : chunk.empty() ? "0" : "";
    for (const Index place : chunk) {
        if (!key.empty()) {
            key += separator;
        }
        key += std::to_string(place);
    }
    return key;
}

ZarrArray zarr2_array(const std::string& name, const Json& array, const Json* attributes) {
    const ZarrElement element = zarr2_element(member(array, "dtype"));
    if (!element.dtype) {
        return without_numbers(element);
    }
    const Json& fill_value = member(array, "fill_value");
    const Coordinates shape = extents_of(member(array, "shape"), "shape", 0);
    ZarrArray found = array_of(name, element, shape,
                               extents_of(member(array, "chunks"), "chunks", 1), fill_value);
    found.layout.filters = zarr2_filters(array, shape.size());
    set_byte_order(element.big_endian, found);
    found.keys = {false, separator_of(array.find("dimension_separator"), '.')};
    found.description.attributes = attributes_of(attributes);
    found.description.attributes.erase(dimensions_attribute);
    found.description.dimensions = dimension_names(
        attributes == nullptr ? nullptr : attributes->find(dimensions_attribute), shape.size());
    if (const auto missing = zarr2_missing(fill_value, element)) {
        found.description.attributes[missing_attribute] = *missing;
    }
    return found;
}

ZarrArray zarr3_array(const std::string& name, const Json& array) {
    check_extensions(array);
    const ZarrElement element = zarr3_element(member(array, "data_type"));
    if (!element.dtype) {
        return without_numbers(element);
    }
    const Coordinates shape = extents_of(member(array, "shape"), "shape", 0);
    const Json& chunk = chunk_shape_of(member(array, "chunk_grid"));
    ZarrArray found = array_of(name, element, shape, extents_of(chunk, "chunk_shape", 1),
                               member(array, "fill_value"));
    const Json* chain = &member(array, "codecs");
    if (const Json* const sharding = sharding_of(*chain)) {
        const Coordinates shard = found.layout.chunk;
        found.layout.chunk = extents_of(member(*sharding, "chunk_shape"), "chunk_shape", 1);
        found.shards = shards_of(*sharding, shard, found.layout.chunk);
        chain = &member(*sharding, "codecs");
    }
    const ZarrCodecs codecs = zarr3_codecs(*chain, shape.size(), *element.dtype);
    found.layout.filters = codecs.filters;
    set_byte_order(codecs.big_endian, found);
    found.keys = keys_of(member(array, "chunk_key_encoding"));
    const Json* const said = array.find("attributes");
    Attributes& attributes = found.description.attributes = attributes_of(said);
    const Json* const names = said == nullptr ? nullptr : said->find(dimensions_attribute);
    attributes.erase(dimensions_attribute);
    found.description.dimensions =
        dimension_names(names != nullptr ? names : array.find("dimension_names"), shape.size());
    const auto missing = attributes.find(missing_attribute);
    const bool is_text = missing != attributes.end() &&
                         (std::holds_alternative<std::string>(missing->second) ||
                          std::holds_alternative<std::vector<std::string>>(missing->second));
    if (is_text && !is_integer(*element.dtype)) {
        const auto number = zarr3_missing(missing->second, *element.dtype);
        if (number) {
            missing->second = *number;
        } else {
            attributes.erase(missing);
        }
    }
    return found;
}

}  // namespace fluvial::store
