// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/codecs.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/zarr/unsupported.hpp"

namespace fluvial::store {
namespace {

struct Codec {
    std::string_view name;
    Filter::Kind kind;
};
constexpr Codec codecs2[] = {{"zlib", Filter::Kind::Deflate},
                             {"gzip", Filter::Kind::Gzip},
                             {"zstd", Filter::Kind::Zstd},
                             {"blosc", Filter::Kind::Blosc},
                             {"shuffle", Filter::Kind::Shuffle}};
constexpr Codec codecs3[] = {{"gzip", Filter::Kind::Gzip},
                             {"zstd", Filter::Kind::Zstd},
                             {"crc32c", Filter::Kind::Crc32c},
                             {"numcodecs.zlib", Filter::Kind::Deflate},
                             {"numcodecs.gzip", Filter::Kind::Gzip},
                             {"numcodecs.zstd", Filter::Kind::Zstd},
                             {"numcodecs.shuffle", Filter::Kind::Shuffle},
                             {"blosc", Filter::Kind::Blosc}};

/// The codec of that name; nullptr where none of `codecs` has it.
template <std::size_t count>
const Codec* find(const std::string& name, const Codec (&codecs)[count]) {
    const auto* const found = std::find_if(std::begin(codecs), std::end(codecs),
                                           [&](const Codec& one) { return one.name == name; });
    return found == std::end(codecs) ? nullptr : found;
}

template <std::size_t count>
Filter filter_of(const std::string& name, const Json* options, const Codec (&codecs)[count]) {
    const Codec* const found = find(name, codecs);
    std::string allowed = "none";
    for (const Codec& one : codecs) {
        allowed += is_built(one.kind) ? text(", ", one.name) : "";
    }
    if (found == nullptr) {
        throw UnsupportedZarr("codec '" + name + "'", allowed);
    }
    if (!is_built(found->kind)) {
        throw UnsupportedZarr("codec '" + name + "', which this build of Fluvial leaves out",
                              allowed, text("Build Fluvial with ", option_of(found->kind), ". "));
    }
    Filter filter{found->kind};
    if (found->kind == Filter::Kind::Shuffle) {
        const Json* const said = options == nullptr ? nullptr : options->find("elementsize");
        const std::int64_t bytes = said == nullptr ? 4 : said->integer("elementsize of shuffle");
        if (bytes < 1 || bytes > 1024) {
            throw InvalidArgument(
                Problem{"elementsize of shuffle is out of range", text(bytes), "1 to 1024", ""});
        }
        filter.element_bytes = static_cast<std::uint32_t>(bytes);
    }
    return filter;
}

bool is_null(const Json* json) {
    return json == nullptr || std::holds_alternative<std::nullptr_t>(json->value());
}

/// The axes that the codec transpose names, of those that came before it.
Coordinates transposed(const Coordinates& before, const Json* options) {
    const Json* const order = options == nullptr ? nullptr : options->find("order");
    if (order == nullptr) {
        throw InvalidArgument("the codec transpose has no order");
    }
    if (std::holds_alternative<std::string>(order->value())) {  // as drafts of version 3 had it
        throw UnsupportedZarr("codec 'transpose' with order " + text_of(*order), "a list of axes");
    }
    const Json::List& list = order->list("order of transpose");
    Coordinates axes = before;
    std::vector<bool> seen(static_cast<std::size_t>(before.size()));
    bool sound = list.size() == seen.size();
    for (int i = 0; sound && i < axes.size(); ++i) {
        const std::int64_t axis = list[static_cast<std::size_t>(i)].integer("an axis of transpose");
        sound = axis >= 0 && axis < axes.size() && !seen[static_cast<std::size_t>(axis)];
        if (sound) {
            seen[static_cast<std::size_t>(axis)] = true;
            axes[i] = before[static_cast<int>(axis)];
        }
    }
    if (!sound) {
        throw InvalidArgument(Problem{"order of transpose is none of all axes", text_of(*order),
                                      text("0 to ", before.size() - 1, ", each once"), ""});
    }
    return axes;
}

void transpose_first(const Coordinates& axes, std::vector<Filter>& filters) {
    if (!std::is_sorted(axes.begin(), axes.end())) {
        filters.insert(filters.begin(), {Filter::Kind::Transpose, 0, axes});
    }
}

Coordinates in_order(int ndim) {
    Coordinates axes(ndim, 0);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

void check_count(const std::vector<Filter>& filters) {
    constexpr std::size_t filters_max = 32;
    if (filters.size() > filters_max) {
        throw UnsupportedZarr(text(filters.size(), " codecs"), text("up to ", filters_max));
    }
}

/// Name and options of a codec, which may stand as its name alone.
struct Named {
    std::string name;
    const Json* options = nullptr;
};
Named named(const Json& codec) {
    if (const auto* const name = std::get_if<std::string>(&codec.value())) {
        return {*name};
    }
    const Json* const name = codec.find("name");
    if (name == nullptr) {
        throw InvalidArgument(Problem{"a codec has no name", text_of(codec), "", ""});
    }
    return {name->string("the name of a codec"), codec.find("configuration")};
}

/// The byte order that the codec `bytes` says.
bool is_big_endian(const Json* options, DType dtype) {
    const Json* const endian = options == nullptr ? nullptr : options->find("endian");
    if (is_null(endian) && size_of(dtype) == 1) {
        return false;
    }
    const std::string word = is_null(endian) ? "" : endian->string("endian");
    if (word != "big" && word != "little") {
        throw InvalidArgument(
            Problem{"the codec bytes says no byte order", "'" + word + "'", "little, big", ""});
    }
    return word == "big";
}

}  // namespace

std::vector<Filter> zarr2_filters(const Json& array, int ndim) {
    std::vector<Filter> filters;
    const Json* const order = array.find("order");
    const std::string word = order == nullptr ? "" : order->string("order");
    if (word != "C" && word != "F") {
        throw InvalidArgument(Problem{"order is none", "'" + word + "'", "C, F", ""});
    }
    if (word == "F") {
        Coordinates axes = in_order(ndim);
        std::reverse(axes.begin(), axes.end());
        transpose_first(axes, filters);
    }
    const auto add = [&](const Json& codec) {
        const Json* const id = codec.find("id");
        if (id == nullptr) {
            throw InvalidArgument(Problem{"a codec has no id", text_of(codec), "", ""});
        }
        filters.push_back(filter_of(id->string("the id of a codec"), &codec, codecs2));
    };
    if (const Json* const before = array.find("filters"); !is_null(before)) {
        for (const Json& codec : before->list("filters")) {
            add(codec);
        }
    }
    if (const Json* const compressor = array.find("compressor"); !is_null(compressor)) {
        add(*compressor);
    }
    check_count(filters);
    return filters;
}

ZarrCodecs zarr3_codecs(const Json& codecs, int ndim, DType dtype) {
    ZarrCodecs found;
    Coordinates axes = in_order(ndim);
    bool bytes = false;  // whether what comes is bytes
    for (const Json& codec : codecs.list("codecs")) {
        const auto [name, options] = named(codec);
        if (name == "bytes" || name == "endian") {
            if (bytes) {
                throw InvalidArgument("codecs make bytes of elements twice");
            }
            bytes = true;
            found.big_endian = is_big_endian(options, dtype);
        } else if (name == "transpose" && !bytes) {
            axes = transposed(axes, options);
        } else {
            // Whether or not this build has the codec: such a chain makes no sense.
            if (!bytes && find(name, codecs3) != nullptr) {
                throw InvalidArgument(Problem{"a codec of bytes stands before there are any",
                                              "'" + name + "'", "the codec bytes before it", ""});
            }
            found.filters.push_back(filter_of(name, options, codecs3));
        }
    }
    if (!bytes) {
        throw InvalidArgument("no codec makes bytes of elements");
    }
    transpose_first(axes, found.filters);
    check_count(found.filters);
    return found;
}

}  // namespace fluvial::store
