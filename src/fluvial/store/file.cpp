// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/file.hpp"

#include <algorithm>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/chunk_decoder.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t block_bytes_max = 1 << 20;
/// A block may hold this many bytes for each one wanted: reading over gaps costs less than a call
/// for each element.
constexpr std::uint64_t sparse_max = 8;
constexpr std::uint64_t small_block_bytes = 4096;

/// Bytes from the first to behind the last element.
std::uint64_t span_of(const Coordinates& extent, const Coordinates& strides, std::uint64_t item) {
    Coordinates last = extent;
    for (Index& n : last) {
        --n;
    }
    return static_cast<std::uint64_t>(offset_of(last, strides)) + item;
}

/// Extents of the blocks that are read in one go: as many trailing axes as fit and are dense
/// enough, and a part of the next one.
Coordinates block_extent(const Coordinates& extent, const Coordinates& strides,
                         std::uint64_t item) {
    Coordinates block(extent.size(), 1);
    std::uint64_t span = item;
    std::uint64_t wanted = item;
    for (int axis = extent.size() - 1; axis >= 0; --axis) {
        const auto stride = static_cast<std::uint64_t>(strides[axis]);
        const auto room = (block_bytes_max - span) / std::max<std::uint64_t>(stride, 1) + 1;
        const auto count = std::min(static_cast<std::uint64_t>(extent[axis]), room);
        span += (count - 1) * stride;
        wanted *= count;
        if (span > small_block_bytes && span / sparse_max > wanted) {
            return block;
        }
        block[axis] = static_cast<Index>(count);
        if (block[axis] < extent[axis]) {
            return block;
        }
    }
    return block;
}

void read_affine(const InputFile& file, const Affine& layout, const Region& region,
                 const MutableArrayView& to) {
    const std::uint64_t item = size_of(to.dtype);
    const auto first =
        layout.offset + static_cast<std::uint64_t>(offset_of(region.offset, layout.strides));
    std::vector<std::byte> scratch;
    for_each_block(
        region.extent, block_extent(region.extent, layout.strides, item), [&](const Region& block) {
            const MutableArrayView part = subview(to, block);
            const auto at =
                first + static_cast<std::uint64_t>(offset_of(block.offset, layout.strides));
            const std::uint64_t span = span_of(block.extent, layout.strides, item);
            const bool dense = ArrayView(nullptr, to.dtype, block.extent, layout.strides)  //
                                   .is_contiguous();
            if (dense && ArrayView(part).is_contiguous()) {
                file.read(at, {part.data, span});
            } else {
                scratch.resize(std::max<std::size_t>(scratch.size(), span));
                file.read(at, {scratch.data(), span});
                copy(ArrayView(scratch.data(), to.dtype, block.extent, layout.strides), part);
            }
            if (layout.swapped) {
                swap_bytes(part);
            }
        });
}

/// The bytes of a chunk as they are stored, in `to`.
void read_stored(const InputFile& file, const StoredChunk& place, const std::string& what,
                 std::vector<std::byte>& to) {
    if (place.offset > file.size() || place.bytes > file.size() - place.offset) {
        throw DamagedFile(Problem{what + " lies outside the file",
                                  text(place.bytes, " bytes from byte ", place.offset, " on"),
                                  text("within the file's ", file.size(), " bytes"),
                                  "Copy or write the file again"});
    }
    to.resize(place.bytes);
    file.read(place.offset, to);
}

void read_stored(const Dataset& dataset, const StoredChunk& place, const std::string& what,
                 std::vector<std::byte>& to) {
    if (place.file.empty()) {
        read_stored(dataset.bytes(), place, what, to);
    } else {
        read_stored(InputFile(place.file), place, what, to);
    }
}

void read_chunked(const Dataset& dataset, const Chunked& layout, const Region& region,
                  const MutableArrayView& to) {
    const int ndim = region.ndim();
    Coordinates first(ndim, 0);  // in the grid of chunks
    Coordinates grid(ndim, 0);
    for (int axis = 0; axis < ndim; ++axis) {
        first[axis] = region.offset[axis] / layout.chunk[axis];
        grid[axis] =
            (region.offset[axis] + region.extent[axis] - 1) / layout.chunk[axis] - first[axis] + 1;
    }
    ChunkDecoder decoder(layout, dataset.dtype());
    std::vector<std::byte> stored;
    for_each_index(grid, [&](const Coordinates& place_in_grid) {
        Coordinates chunk = first;
        Region covered{Coordinates(ndim, 0), layout.chunk};
        for (int axis = 0; axis < ndim; ++axis) {
            chunk[axis] += place_in_grid[axis];
            covered.offset[axis] = chunk[axis] * layout.chunk[axis];
        }
        const Region wanted = *intersect(covered, region);
        Region inside = wanted;  // in the chunk
        Region target = wanted;  // in `to`
        for (int axis = 0; axis < ndim; ++axis) {
            inside.offset[axis] -= covered.offset[axis];
            target.offset[axis] -= region.offset[axis];
        }
        const MutableArrayView part = subview(to, target);
        const StoredChunk place = dataset.locate(chunk);
        if (!place.stored) {
            copy(ArrayView(layout.fill.data(), to.dtype, part.extent, Coordinates(ndim, 0)), part);
            return;
        }
        const std::string what =
            text("chunk ", chunk, " of '", dataset.name(), "' in '",
                 place.file.empty() ? dataset.bytes().path() : place.file, "'");
        read_stored(dataset, place, what, stored);
        const auto decoded = decoder.decode(stored, place.filters_left_out, what);
        copy(subview(ArrayView(decoded.data(), to.dtype, layout.chunk), inside), part);
        if (layout.swapped) {
            swap_bytes(part);
        }
    });
}

}  // namespace

const std::map<std::string, std::string>& File::unreadable() const {
    static const std::map<std::string, std::string> none;
    return none;
}

const std::map<std::string, std::string>& File::left_out() const {
    static const std::map<std::string, std::string> none;
    return none;
}

const std::vector<std::string>& File::groups() const {
    static const std::vector<std::string> none;
    return none;
}

Attributes File::group_attributes(const std::string& group) const {
    if (!group.empty()) {
        throw UnknownName(Problem{"no such group in '" + path() + "'", "'" + group + "'",
                                  groups().empty() ? "none: the file has no groups"
                                                   : text("one of its ", groups().size()),
                                  did_you_mean(group, groups())});
    }
    return attributes();
}

StoredChunk Dataset::locate(const Coordinates& chunk) const {
    throw InvalidArgument(Problem{"'" + name() + "' is not stored in chunks", text("chunk ", chunk),
                                  "datasets with a chunked layout", ""});
}

void Dataset::check_read(const Region& region, const MutableArrayView& to) const {
    check_inside(region, shape(), {"region of", name()});
    if (to.dtype != dtype() || !(to.extent == region.extent)) {
        throw InvalidArgument(Problem{"cannot read '" + name() + "' into this array",
                                      text(name_of(to.dtype), to.extent),
                                      text(name_of(dtype()), region.extent), ""});
    }
}

void Dataset::read(const Region& region, const MutableArrayView& to) const {
    check_read(region, to);
    if (region.empty()) {
        return;
    }
    if (const auto* affine = std::get_if<Affine>(&layout_)) {
        read_affine(bytes(), *affine, region, to);
    } else if (const auto* chunked = std::get_if<Chunked>(&layout_)) {
        read_chunked(*this, *chunked, region, to);
    } else {
        FLUVIAL_ASSERT(false, name(), ": a format with datasets ByLibrary reads them itself");
    }
}

}  // namespace fluvial::store
