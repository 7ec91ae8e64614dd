// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/packing.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t packed_chunk_bytes_max = 4 << 20;
constexpr std::uint64_t compressed_bytes_min = 4096;  // of a dataset
constexpr int level_usual = 4, level_least = 1, level_most = 9;

[[noreturn]] void throw_no_codec(const std::string& said, const std::string& engine,
                                 const std::string& allowed, const std::string& remedy) {
    throw InvalidArgument(
        Problem{"engine '" + engine + "' cannot compress so", "'" + said + "'", allowed, remedy});
}

/// The level that follows "gzip:", or none.
std::optional<int> level_in(const std::string& said) {
    const std::size_t colon = said.find(':');
    if (colon == std::string::npos) {
        return level_usual;
    }
    int level = 0;
    const char* const end = said.data() + said.size();
    const auto [rest, error] = std::from_chars(said.data() + colon + 1, end, level);
    return error == std::errc() && rest == end ? std::optional(level) : std::nullopt;
}

Index divisor_below(Index extent, Index most) {
    Index size = most - 1;
    while (extent % size != 0) {
        --size;
    }
    return size;
}

}  // namespace

Compression to_compression(const std::string& said, const std::string& engine) {
    if (said.empty() || said == "none") {
        return {};
    }
    if (engine != "hdf5" && engine != "netcdf4") {
        throw_no_codec(
            said, engine, "none",
            "Write HDF5 or netCDF-4, or another format from Python or by `fluvial pipe`");
    }
    const auto level = level_in(said);
    if (said.substr(0, said.find(':')) != "gzip" || !level) {
        throw_no_codec(said, engine, "gzip, none",
                       "Say 'gzip', for example, or 'gzip:9' to try harder");
    }
    if (*level < level_least || *level > level_most) {
        throw InvalidArgument(Problem{"gzip has no such level", text(*level),
                                      text(level_least, " to ", level_most), ""});
    }
#ifndef FLUVIAL_WITH_DEFLATE
    throw_no_codec(said, engine, "none", "Build Fluvial with FLUVIAL_DEFLATE=ON");
#endif
    return {"gzip", *level};
}

std::optional<Packing> packing_of(const Compression& compression,
                                  const DatasetDescription& dataset) {
    const std::uint64_t element_bytes = size_of(dataset.dtype);
    const auto bytes = static_cast<std::uint64_t>(volume_of(dataset.shape)) * element_bytes;
    if (compression.level == 0 || dataset.shape.empty() || bytes < compressed_bytes_min) {
        return std::nullopt;
    }
    return Packing{chunk_of(dataset.shape, dataset.chunks, element_bytes, packed_chunk_bytes_max),
                   compression.level};
}

bool fits(const std::vector<Chunk>& puts, const Coordinates& shape, const Coordinates& chunk) {
    return std::ranges::all_of(puts, [&](const Chunk& put) {
        const Region& region = put.region;
        for (int axis = 0; axis < shape.size(); ++axis) {
            const Index end = region.offset[axis] + region.extent[axis];
            if (region.offset[axis] % chunk[axis] != 0 ||
                (end % chunk[axis] != 0 && end != shape[axis])) {
                return false;
            }
        }
        return true;
    });
}

Coordinates chunk_of(const Coordinates& shape, const std::vector<Chunk>& puts,
                     std::uint64_t element_bytes, std::uint64_t bytes_max) {
    Coordinates chunk = shape;
    const auto first = std::ranges::min_element(puts, [](const Chunk& a, const Chunk& b) {
        return std::ranges::lexicographical_compare(a.region.offset.span(), b.region.offset.span());
    });
    if (first != puts.end() && !first->region.empty() && fits(puts, shape, first->region.extent)) {
        chunk = first->region.extent;
    }
    for (int axis = 0; axis < chunk.size(); ++axis) {
        const Index extent = chunk[axis];
        const bool alone = extent == shape[axis];  // a rest at its end is at the array's end
        while (static_cast<std::uint64_t>(volume_of(chunk)) * element_bytes > bytes_max &&
               chunk[axis] > 1) {
            chunk[axis] = alone ? (chunk[axis] + 1) / 2 : divisor_below(extent, chunk[axis]);
        }
    }
    return chunk;
}

}  // namespace fluvial::store
