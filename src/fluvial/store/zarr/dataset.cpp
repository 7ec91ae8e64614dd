// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/dataset.hpp"

#include <cerrno>
#include <optional>

#include <sys/stat.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/zarr/shard_indices.hpp"

namespace fluvial::store {
namespace {

class ZarrDataset final : public Dataset {
  public:
    ZarrDataset(const ZarrArray& array, std::string folder, const std::string& store)
        : Dataset(array.description, array.layout),
          keys_(array.keys),
          folder_(std::move(folder)),
          bytes_(InputFile::without_bytes(store)),
          chunk_bytes_(static_cast<std::uint64_t>(volume_of(array.layout.chunk)) *
                       size_of(array.description.dtype)),
          filtered_(!array.layout.filters.empty()) {
        if (array.shards) {
            indices_.emplace(*array.shards);
        }
    }

    const InputFile& bytes() const override { return bytes_; }
    StoredChunk locate(const Coordinates& chunk) const override;
    bool is_stored(const Region& region) const override;

  private:
    StoredChunk in_own_file(const Coordinates& chunk) const;
    StoredChunk in_shard(const Coordinates& chunk) const;
    /// Throws DamagedFile where a file cannot be that of a chunk, before memory is taken for it.
    void check_size(std::uint64_t bytes, const Coordinates& chunk, const std::string& file) const;

    ZarrChunkKeys keys_;
    std::string folder_;
    InputFile bytes_;
    std::uint64_t chunk_bytes_;
    bool filtered_;
    std::optional<ZarrShardIndices> indices_ = {};
};

StoredChunk ZarrDataset::locate(const Coordinates& chunk) const {
    StoredChunk place = indices_ ? in_shard(chunk) : in_own_file(chunk);
    if (place.stored) {
        check_size(place.bytes, chunk, place.file);
    }
    return place;
}

StoredChunk ZarrDataset::in_shard(const Coordinates& chunk) const {
    const Coordinates& chunks = indices_->shards().chunks;
    Coordinates shard = chunk, inside = chunk;
    for (int axis = 0; axis < chunk.size(); ++axis) {
        shard[axis] /= chunks[axis];
        inside[axis] %= chunks[axis];
    }
    return indices_->find(folder_ + "/" + keys_.of(shard),
                          static_cast<std::uint64_t>(linear_index(inside, chunks)),
                          text("chunk ", chunk, " of '", name(), "'"));
}

StoredChunk ZarrDataset::in_own_file(const Coordinates& chunk) const {
    std::string file = folder_ + "/" + keys_.of(chunk);
    struct stat facts{};
    if (::stat(file.c_str(), &facts) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return {};
        }
        throw_errno("cannot find '" + file + "'", errno, "Check its permissions");
    }
    if (!S_ISREG(facts.st_mode)) {
        throw DamagedFile(Problem{text("chunk ", chunk, " of '", name(), "' is no file"),
                                  "'" + file + "'", "a regular file",
                                  "Copy or write the array again"});
    }
    StoredChunk place(BytesOfFile{0, static_cast<std::uint64_t>(facts.st_size)});
    place.file = std::move(file);
    return place;
}

void ZarrDataset::check_size(std::uint64_t bytes, const Coordinates& chunk,
                             const std::string& file) const {
    // What a compressor cannot shorten it makes longer by a few bytes in a thousand.
    const std::uint64_t most = filtered_ ? 2 * chunk_bytes_ + 65536 : chunk_bytes_;
    if (bytes > most || (!filtered_ && bytes < chunk_bytes_)) {
        throw DamagedFile(
            Problem{text("chunk ", chunk, " of '", name(), "' in '", file, "' is damaged"),
                    text(bytes, " bytes"),
                    filtered_ ? text("up to ", most, " bytes")
                              : text(chunk_bytes_, " bytes, a whole chunk"),
                    "Copy or write it again"});
    }
}

bool ZarrDataset::is_stored(const Region& region) const {
    check_inside(region, shape(), {"region of", name()});
    if (region.empty()) {
        return true;
    }
    const Coordinates& length = std::get<Chunked>(layout()).chunk;
    Coordinates first = region.offset, count = region.extent;
    for (int axis = 0; axis < region.ndim(); ++axis) {
        first[axis] = region.offset[axis] / length[axis];
        count[axis] =
            (region.offset[axis] + region.extent[axis] - 1) / length[axis] - first[axis] + 1;
    }
    IndexWalk walk(count.span());
    do {
        Coordinates chunk = first;
        for (int axis = 0; axis < region.ndim(); ++axis) {
            chunk[axis] += walk.at()[axis];
        }
        if (!locate(chunk).stored) {
            return false;
        }
    } while (walk.next() >= 0);
    return true;
}

}  // namespace

std::shared_ptr<const Dataset> open_zarr_array(const ZarrArray& array, std::string folder,
                                               const std::string& store) {
    return std::make_shared<ZarrDataset>(array, std::move(folder), store);
}

}  // namespace fluvial::store
