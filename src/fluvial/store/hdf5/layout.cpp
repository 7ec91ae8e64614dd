// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/layout.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/hdf5/chunking.hpp"
#include "fluvial/store/hdf5/driver.hpp"

namespace fluvial::store {

namespace {

std::vector<std::byte> fill_value(hid_t properties, hid_t memory, std::size_t bytes) {
    std::vector<std::byte> fill(bytes);
    H5D_fill_value_t status = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(properties, &status) >= 0 && status != H5D_FILL_VALUE_UNDEFINED &&
        H5Pget_fill_value(properties, memory, fill.data()) < 0) {
        std::fill(fill.begin(), fill.end(), std::byte{0});
    }
    return fill;
}

struct Filters {
    std::vector<Filter> ours;
    std::string why;      ///< there is one that is none of ours
    std::string missing;  ///< and that libhdf5 does not have either
};

/// The filter of ours that HDF5 knows by this number.
std::optional<Filter::Kind> kind_of(H5Z_filter_t id) {
    constexpr std::pair<H5Z_filter_t, Filter::Kind> numbers[] = {
        {H5Z_FILTER_DEFLATE, Filter::Kind::Deflate},
        {H5Z_FILTER_SHUFFLE, Filter::Kind::Shuffle},
        {H5Z_FILTER_FLETCHER32, Filter::Kind::Fletcher32},
        {32015, Filter::Kind::Zstd}};  // its registered number
    for (const auto& [number, kind] : numbers) {
        if (number == id) {
            return kind;
        }
    }
    return std::nullopt;
}

Filters filters_of(hid_t properties, const std::string& what) {
    Filters filters;
    const int count = hdf5_checked(H5Pget_nfilters(properties), what);
    for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
        unsigned flags = 0, config = 0, values[8] = {};
        std::size_t n_values = std::size(values);
        char name[64] = "";
        const H5Z_filter_t id = hdf5_checked(
            H5Pget_filter2(properties, i, &flags, &n_values, values, sizeof name, name, &config),
            what);
        name[sizeof name - 1] = '\0';
        const auto kind = kind_of(id);
        if (!kind || !is_built(*kind)) {
            filters.why =
                text("filter ", id, *name == '\0' ? "" : " (", name, *name == '\0' ? "" : ")",
                     kind ? ", which this build of Fluvial leaves out" : "");
            if (H5Zfilter_avail(id) <= 0) {
                filters.missing = filters.why;
            }
            continue;
        }
        const bool shuffle = kind == Filter::Kind::Shuffle;
        if (shuffle && (n_values != 1 || values[0] == 0)) {
            throw DamagedFile(Problem{what + " has a shuffle filter that makes no sense",
                                      text(n_values, " parameters, the first of them ", values[0]),
                                      "the bytes of an element", ""});
        }
        filters.ours.push_back({*kind, shuffle ? values[0] : 0});
    }
    return filters;
}

ByLibrary by_library(std::string why, Coordinates granule = {}) {
    return {std::move(why), granule};
}

/// What is stored in one piece has as many bytes as its elements, or none so far. libhdf5 1.10
/// reads as many as the shape says, whatever there are.
void check_stored_bytes(hid_t dataset, std::uint64_t bytes, const Hdf5Entry& entry,
                        const std::string& what) {
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (stored != 0 && stored != bytes) {
        throw DamagedFile(Problem{what + (stored < bytes ? " has fewer bytes than elements"
                                                         : " has more bytes than elements"),
                                  text(stored, " bytes"),
                                  text(bytes, " bytes for the shape ", entry.shape.extent), ""});
    }
}

Layout contiguous(hid_t dataset, hid_t properties, const Hdf5Entry& entry, Hdf5Storage& storage,
                  std::uint64_t file_bytes, const std::string& what) {
    if (hdf5_checked(H5Pget_external_count(properties), what) > 0) {
        return by_library("data in other files (HDF5's external storage)");
    }
    const std::uint64_t bytes = *bytes_of(entry.shape.extent, size_of(*entry.element.dtype));
    check_stored_bytes(dataset, bytes, entry, what);
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF || bytes == 0) {
        storage.nothing_stored = true;
        return nothing_but(storage.fill, entry.shape.extent);
    }
    if (bytes > file_bytes || offset > file_bytes - bytes) {
        throw DamagedFile(Problem{
            what + " does not lie in its file", text(bytes, " bytes from byte ", offset, " on"),
            text("a file of ", file_bytes, " bytes"), "Copy or write the file again"});
    }
    return Affine{offset, contiguous_strides(entry.shape.extent, size_of(*entry.element.dtype)),
                  entry.element.swapped};
}

Coordinates chunk_extents(hid_t properties, const std::string& what) {
    hsize_t extent[H5S_MAX_RANK] = {};
    const int ndim = hdf5_checked(H5Pget_chunk(properties, H5S_MAX_RANK, extent), what);
    Coordinates chunk(ndim, 0);
    for (int axis = 0; axis < ndim; ++axis) {
        chunk[axis] = static_cast<Index>(extent[axis]);
    }
    return chunk;
}

/// The tree of chunks, if there is one. libhdf5 does not tell where it begins.
std::optional<Hdf5ChunkTree> chunk_tree(hid_t dataset, hid_t properties, const Coordinates& shape,
                                        const InputFile& file, const std::string& what) {
    H5O_info_t info;
    hdf5_checked(H5Oget_info2(dataset, &info, H5O_INFO_BASIC), what);
    const Hdf5Id type(hdf5_checked(H5Dget_type(dataset), what));
    const std::size_t element_bytes = H5Tget_size(type);
    const Coordinates chunk = chunk_extents(properties, what);
    const Hdf5Sizes sizes = hdf5_sizes(file);
    const std::uint64_t header = info.addr + sizes.base;
    const Hdf5Chunking said = chunking_at(file, sizes, header);
    if (!said.known) {
        return std::nullopt;
    }
    std::vector<std::uint64_t> expected(chunk.begin(), chunk.end());
    expected.push_back(element_bytes);
    if (said.extents != expected || !bytes_of(chunk, element_bytes)) {
        throw DamagedFile(Problem{what + " has chunks that do not fit to its type", text(chunk),
                                  text("chunks of elements of ", element_bytes, " bytes"), ""});
    }
    if (!said.tree) {
        return std::nullopt;
    }
    const Hdf5Id file_id(hdf5_checked(H5Iget_file_id(dataset), what));
    const Hdf5Id of_file(hdf5_checked(H5Fget_create_plist(file_id), what));
    unsigned half_node = 0;
    hdf5_checked(H5Pget_istore_k(of_file, &half_node), what);
    const bool filtered = hdf5_checked(H5Pget_nfilters(properties), what) > 0;
    return Hdf5ChunkTree{*said.tree, header, 2 * std::uint64_t{half_node},
                         chunk,      shape,  filtered ? 0 : *bytes_of(chunk, element_bytes)};
}

Layout chunked(hid_t dataset, hid_t properties, const Hdf5Entry& entry, Hdf5Storage& storage,
               const InputFile& file, const std::string& what) {
    const Coordinates chunk = chunk_extents(properties, what);
    if (chunk.size() != entry.shape.extent.size() ||
        std::count(chunk.begin(), chunk.end(), 0) > 0 ||
        !bytes_of(chunk, size_of(*entry.element.dtype))) {
        throw DamagedFile(Problem{what + " has impossible chunks", text(chunk),
                                  text(entry.shape.extent.size(), " positive extents"), ""});
    }
    storage.tree = chunk_tree(dataset, properties, entry.shape.extent, file, what);
    unsigned options = 0;
    hdf5_checked(H5Pget_chunk_opts(properties, &options), what);
    storage.edges_unfiltered = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
    Filters filters = filters_of(properties, what);
    if (!filters.why.empty()) {
        storage.missing_filter = filters.missing;
        return by_library(filters.why, chunk);
    }
    return Chunked{chunk, std::move(filters.ours), entry.element.swapped, storage.fill};
}

}  // namespace

Chunked nothing_but(std::vector<std::byte> fill, const Coordinates& shape) {
    constexpr Index elements_max = 1 << 18;
    Coordinates chunk(shape.size(), 1);
    Index room = elements_max;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
        chunk[axis] = std::clamp<Index>(shape[axis], 1, room);
        room /= chunk[axis];
    }
    return {chunk, {}, false, std::move(fill)};
}

Hdf5Storage storage_of(hid_t dataset, const Hdf5Entry& entry, const InputFile& file,
                       const std::string& what) {
    const Hdf5Id properties(hdf5_checked(H5Dget_create_plist(dataset), what));
    const Hdf5Id type(hdf5_checked(H5Dget_type(dataset), what));
    const DType dtype = *entry.element.dtype;
    Hdf5Storage storage;
    storage.fill = fill_value(properties, memory_type(type, dtype), size_of(dtype));
    switch (H5Pget_layout(properties)) {
        case H5D_CONTIGUOUS:
            storage.layout = contiguous(dataset, properties, entry, storage, file.size(), what);
            break;
        case H5D_CHUNKED:
            storage.layout = chunked(dataset, properties, entry, storage, file, what);
            break;
        case H5D_COMPACT:
            check_stored_bytes(dataset, *bytes_of(entry.shape.extent, H5Tget_size(type)), entry,
                               what);
            storage.layout = by_library("data in the object's header (HDF5's compact layout)");
            break;
        case H5D_VIRTUAL:
            storage.layout = by_library("data in other datasets (HDF5's virtual layout)");
            storage.of_others = true;
            break;
        default:
            throw_hdf5(what + " has no layout that is known");
    }
    return storage;
}

void check_chunks(hid_t dataset, const std::string& what) {
    const Hdf5Id properties(hdf5_checked(H5Dget_create_plist(dataset), what));
    const Hdf5Id space(hdf5_checked(H5Dget_space(dataset), what));
    const auto shape = shape_of(space, what);
    if (H5Pget_layout(properties) != H5D_CHUNKED || !shape) {
        return;
    }
    const InputFile& file = bytes_of_file(dataset);
    if (const auto tree = chunk_tree(dataset, properties, shape->extent, file, what)) {
        static_cast<void>(Hdf5Chunks(file, hdf5_sizes(file), *tree, what));
    }
}

}  // namespace fluvial::store
