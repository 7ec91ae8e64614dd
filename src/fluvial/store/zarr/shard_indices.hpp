// SPDX-License-Identifier: Apache-2.0
/// Shards of Zarr: files that hold several chunks each, and an index of where they are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fluvial/store/layout.hpp"
#include "fluvial/store/zarr/sharding.hpp"

namespace fluvial::store {

/// A file as it is at a moment: a writer makes a shard anew to add a chunk to it.
struct FileVersion {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_s = 0, changed_ns = 0;
    friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

/// The indices of the shards that were looked into last. Any number of threads may ask.
class ZarrShardIndices {
  public:
    explicit ZarrShardIndices(ZarrShards shards) : shards_(std::move(shards)) {}

    const ZarrShards& shards() const { return shards_; }
    /// Where a chunk lies in a shard, by its number there in row-major order; not stored where
    /// there is no such file, too. `what` opens messages. Throws DamagedFile, SystemError.
    StoredChunk find(const std::string& file, std::uint64_t number, const std::string& what) const;

  private:
    /// Offset and length of each chunk; null: the file is not there.
    struct Index {
        std::vector<std::uint64_t> places;
        std::uint64_t file_bytes = 0;
        FileVersion version;  ///< of the file when it was read
    };
    std::shared_ptr<const Index> index_of(const std::string& file, const std::string& what) const;
    std::shared_ptr<const Index> read(const std::string& file, const FileVersion& version,
                                      const std::string& what) const;

    ZarrShards shards_;
    mutable std::mutex mutex_;
    mutable std::map<std::string, std::shared_ptr<const Index>> known_;
    mutable std::size_t known_words_ = 0;
};

}  // namespace fluvial::store
