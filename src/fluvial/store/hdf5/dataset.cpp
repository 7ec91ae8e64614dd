// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/dataset.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/hdf5/driver.hpp"
#include "fluvial/store/hdf5/layout.hpp"
#include "fluvial/store/hdf5/virtual_sources.hpp"

namespace fluvial::store {

namespace {

constexpr std::size_t staged_bytes_max = 16 << 20;  ///< of a read into memory with gaps

void set_all(const MutableArrayView& to, const std::vector<std::byte>& fill) {
    copy(ArrayView(fill.data(), to.dtype, to.extent, Coordinates(to.extent.size(), 0)), to);
}

class Hdf5Dataset final : public Dataset {
  public:
    Hdf5Dataset(std::shared_ptr<const OpenHdf5> file, Hdf5Id dataset, const Hdf5Shape& stored,
                DatasetDescription description, Hdf5Storage storage)
        : Dataset(std::move(description), std::move(storage.layout)),
          file_(std::move(file)),
          dataset_(std::move(dataset)),
          stored_(stored.extent),
          unlimited_(stored.unlimited),
          storage_(std::move(storage)) {}

    const InputFile& bytes() const override { return file_->bytes; }
    std::vector<bool> unlimited() const override { return unlimited_; }
    bool is_stored(const Region& region) const override;
    StoredChunk locate(const Coordinates& chunk) const override;
    void read(const Region& region, const MutableArrayView& to) const override;

  private:
    const Hdf5Chunks* chunks() const;
    std::string what() const { return "'" + name() + "' of '" + file_->bytes.path() + "'"; }
    StoredChunk find(const hsize_t* first, const std::string& which) const;
    void read_by_library(const Region& region, const MutableArrayView& to) const;
    void read_contiguous(const Region& region, std::byte* to) const;

    // The dataset is closed before the file.
    std::shared_ptr<const OpenHdf5> file_;
    Hdf5Id dataset_;
    Coordinates stored_;  ///< extents of what HDF5 has
    std::vector<bool> unlimited_;
    Hdf5Storage storage_;
    mutable std::set<std::string> sound_sources_;  ///< of a virtual dataset; under the session
    mutable std::once_flag chunks_read_;
    mutable std::unique_ptr<const Hdf5Chunks> chunks_;  ///< none: not of a tree of version 1
};

/// Read when the first chunk is asked for: looking at headers alone need not wait for it.
const Hdf5Chunks* Hdf5Dataset::chunks() const {
    if (!storage_.tree) {
        return nullptr;
    }
    std::call_once(chunks_read_, [this] {
        chunks_ = std::make_unique<Hdf5Chunks>(file_->bytes, hdf5_sizes(file_->bytes),
                                               *storage_.tree, what());
    });
    return chunks_.get();
}

StoredChunk Hdf5Dataset::locate(const Coordinates& chunk) const {
    const auto* layout = std::get_if<Chunked>(&this->layout());
    if (layout == nullptr) {
        return Dataset::locate(chunk);
    }
    hsize_t first[ndim_max] = {};
    bool partial = false;
    for (int axis = 0; axis < shape().size(); ++axis) {
        const Index length = layout->chunk[axis];
        const Index chunks = shape()[axis] / length + (shape()[axis] % length == 0 ? 0 : 1);
        if (chunk.size() != shape().size() || chunk[axis] < 0 || chunk[axis] >= chunks) {
            throw InvalidArgument(Problem{"no such chunk in " + what(), text(chunk),
                                          text("up to ", chunks, " along axis ", axis), ""});
        }
        first[axis] = static_cast<hsize_t>(chunk[axis] * length);
        partial = partial || length > shape()[axis] - chunk[axis] * length;
    }
    if (storage_.nothing_stored) {
        return {};
    }
    if (const Hdf5Chunks* const known = chunks()) {
        return known->find(chunk);
    }
    StoredChunk place = find(first, text("chunk ", chunk, " of ", what()));
    if (partial && storage_.edges_unfiltered) {
        place.filters_left_out = ~std::uint32_t{0};
    }
    return place;
}

bool Hdf5Dataset::is_stored(const Region& region) const {
    const auto* chunked = std::get_if<Chunked>(&layout());
    const auto* by_library = std::get_if<ByLibrary>(&layout());
    const Coordinates length = chunked != nullptr      ? chunked->chunk
                               : by_library != nullptr ? by_library->granule
                                                       : Coordinates();
    check_inside(region, shape(), text("region of ", what()));
    if (region.empty() || length.empty()) {
        return true;
    }
    if (storage_.nothing_stored || intersect(region, whole(stored_)) != region) {
        return false;
    }
    const Hdf5Chunks* const known = chunks();
    Coordinates begin = region.offset, count = region.extent;
    for (int axis = 0; axis < region.ndim(); ++axis) {
        begin[axis] = region.offset[axis] / length[axis];
        count[axis] =
            (region.offset[axis] + region.extent[axis] - 1) / length[axis] - begin[axis] + 1;
    }
    IndexWalk walk(count.span());
    do {
        hsize_t first[ndim_max] = {};
        Coordinates chunk = begin;
        for (int axis = 0; axis < region.ndim(); ++axis) {
            chunk[axis] += walk.at()[axis];
            first[axis] = static_cast<hsize_t>(chunk[axis] * length[axis]);
        }
        const bool stored = known != nullptr
                                ? known->find(chunk).stored
                                : find(first, text("chunk ", chunk, " of ", what())).stored;
        if (!stored) {
            return false;
        }
    } while (walk.next() >= 0);
    return true;
}

StoredChunk Hdf5Dataset::find(const hsize_t* first, const std::string& which) const {
    const Hdf5Session session;
    StoredChunk place;
    char untouched = 0;
    Hdf5Probe probe;
    if (H5Dread_chunk(dataset_, H5P_DEFAULT, first, &place.filters_left_out, &untouched) < 0) {
        // This function gives up by itself only when the index has no such chunk; damage to the
        // index is found further inside.
        if (last_hdf5_error().function == "H5D__chunk_direct_read") {
            return {};
        }
        throw_hdf5(which + " cannot be found");
    }
    const std::uint64_t end = file_->bytes.size();
    if (probe.reads != 1 || probe.bytes > end || probe.offset > end - probe.bytes) {
        throw DamagedFile(Problem{which + " does not lie in its file",
                                  text(probe.bytes, " bytes from byte ", probe.offset, " on"),
                                  text("a file of ", end, " bytes"),
                                  "Copy or write the file again"});
    }
    place.stored = true;
    place.offset = probe.offset;
    place.bytes = probe.bytes;
    return place;
}

void Hdf5Dataset::read(const Region& region, const MutableArrayView& to) const {
    if (!std::holds_alternative<ByLibrary>(layout())) {
        Dataset::read(region, to);
        return;
    }
    check_read(region, to);
    if (region.empty()) {
        return;
    }
    static_cast<void>(chunks());  // libhdf5 believes the index
    if (!storage_.missing_filter.empty()) {
        throw InvalidArgument(
            Problem{what() + " is compressed in a way that this libhdf5 cannot undo",
                    storage_.missing_filter, "",
                    "Set HDF5_PLUGIN_PATH to a folder with this filter's plugin, or write the "
                    "file with deflate or zstd"});
    }
    const auto stored = intersect(region, whole(stored_));
    if (!stored || !(*stored == region)) {
        set_all(to, storage_.fill);
    }
    if (stored) {
        Region inside = *stored;
        for (int axis = 0; axis < inside.ndim(); ++axis) {
            inside.offset[axis] -= region.offset[axis];
        }
        read_by_library(*stored, subview(to, inside));
    }
}

void Hdf5Dataset::read_by_library(const Region& region, const MutableArrayView& to) const {
    if (ArrayView(to).is_contiguous()) {
        read_contiguous(region, to.data);
        return;
    }
    const std::size_t bytes = static_cast<std::size_t>(region.volume()) * size_of(dtype());
    if (bytes <= staged_bytes_max) {
        const auto staged = std::make_unique_for_overwrite<std::byte[]>(bytes);
        read_contiguous(region, staged.get());
        copy(ArrayView(staged.get(), dtype(), region.extent), to);
        return;
    }
    int axis = 0;
    while (region.extent[axis] == 1) {
        ++axis;
    }
    Index at = 0;
    for (const Region& half : split(region, 2, axis)) {
        Region inside{Coordinates(region.ndim(), 0), half.extent};
        inside.offset[axis] = at;
        read_by_library(half, subview(to, inside));
        at += half.extent[axis];
    }
}

void Hdf5Dataset::read_contiguous(const Region& region, std::byte* to) const {
    const Hdf5Session session;
    if (storage_.of_others) {
        check_virtual_sources(dataset_, region, what(), sound_sources_);
    }
    const std::string which = text(what(), " cannot be read at ", region);
    const Hdf5Id type(hdf5_checked(H5Dget_type(dataset_), which));
    const Hdf5Id from(hdf5_checked(H5Dget_space(dataset_), which));
    hsize_t offset[ndim_max] = {}, extent[ndim_max] = {};
    std::copy(region.offset.begin(), region.offset.end(), offset);
    std::copy(region.extent.begin(), region.extent.end(), extent);
    const Hdf5Id memory(hdf5_checked(region.ndim() == 0
                                         ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(region.ndim(), extent, nullptr),
                                     which));
    if (region.ndim() > 0) {
        hdf5_checked(H5Sselect_hyperslab(from, H5S_SELECT_SET, offset, nullptr, extent, nullptr),
                     which);
    }
    hdf5_checked(H5Dread(dataset_, memory_type(type, dtype()), memory, from, H5P_DEFAULT, to),
                 which);
}

std::vector<std::byte> constant_value(hid_t group, DType dtype, const std::string& what) {
    const Hdf5Id value(hdf5_checked(H5Aopen(group, "value", H5P_DEFAULT), what));
    const Hdf5Id type(hdf5_checked(H5Aget_type(value), what));
    std::vector<std::byte> bytes(size_of(dtype));
    hdf5_checked(H5Aread(value, memory_type(type, dtype), bytes.data()), what);
    return bytes;
}

}  // namespace

std::shared_ptr<const Dataset> open_hdf5_dataset(std::shared_ptr<const OpenHdf5> file,
                                                 const Hdf5Entry& entry,
                                                 DatasetDescription description) {
    const Hdf5Session session;
    const std::string what = "'" + entry.name + "' of '" + file->bytes.path() + "'";
    Hdf5Id object(hdf5_checked(open_inside(file->file, entry.path), what + " cannot be opened"));
    Hdf5Storage storage;
    if (entry.constant) {
        storage.fill = constant_value(object, *entry.element.dtype, what);
        storage.layout = nothing_but(storage.fill, entry.shape.extent);
        storage.nothing_stored = true;
    } else {
        storage = storage_of(object, entry, file->bytes, what);
        if (!(description.shape == entry.shape.extent)) {
            const auto* chunks = std::get_if<Chunked>(&storage.layout);
            storage.layout = ByLibrary{"a variable that lags behind its unlimited dimension",
                                       chunks != nullptr ? chunks->chunk : Coordinates()};
        }
    }
    return std::make_shared<Hdf5Dataset>(std::move(file), std::move(object), entry.shape,
                                         std::move(description), std::move(storage));
}

}  // namespace fluvial::store
