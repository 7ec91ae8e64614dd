// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/shard_indices.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include <sys/stat.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/crc32c.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t not_stored = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t known_words_max = std::size_t{1} << 20;  // 8 MiB
constexpr std::size_t index_checksum_bytes = 4;

[[noreturn]] void refuse(const std::string& what, const std::string& file, const std::string& seen,
                         const std::string& allowed) {
    throw DamagedFile(Problem{text(what, " in the shard '", file, "' cannot be found"), seen,
                              allowed, "Copy or write it again"});
}

void check_sum(const std::vector<std::byte>& bytes, const std::string& file,
               const std::string& what) {
    const std::size_t data = bytes.size() - index_checksum_bytes;
    std::uint32_t said = 0;
    for (std::size_t i = 0; i < index_checksum_bytes; ++i) {
        said |= std::to_integer<std::uint32_t>(bytes[data + i]) << (8 * i);
    }
    const std::uint32_t sum = crc32c(std::span(bytes).first(data));
    if (said != sum) {
        refuse(what, file, text("an index with the checksum ", said),
               text(sum, ", as its words have it"));
    }
}

/// None where there is no such file.
std::optional<FileVersion> version_of(const std::string& file) {
    struct stat facts{};
    if (::stat(file.c_str(), &facts) == 0) {
        return FileVersion{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
                           facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return std::nullopt;
    }
    throw_errno("cannot find '" + file + "'", errno, "Check its permissions");
}

}  // namespace

StoredChunk ZarrShardIndices::find(const std::string& file, std::uint64_t number,
                                   const std::string& what) const {
    const auto index = index_of(file, what);
    if (index == nullptr) {
        return {};
    }
    const std::uint64_t offset = index->places[2 * number], bytes = index->places[2 * number + 1];
    if (offset == not_stored && bytes == not_stored) {
        return {};
    }
    if (bytes > index->file_bytes || offset > index->file_bytes - bytes) {
        refuse(what, file, text(bytes, " bytes from byte ", offset, " on"),
               text("within the file's ", index->file_bytes, " bytes"));
    }
    StoredChunk place(BytesOfFile{offset, bytes});
    place.file = file;
    return place;
}

std::shared_ptr<const ZarrShardIndices::Index> ZarrShardIndices::index_of(
    const std::string& file, const std::string& what) const {
    const auto version = version_of(file);
    if (!version) {
        return nullptr;
    }
    {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(file);
        if (found != known_.end() && found->second->version == *version) {
            return found->second;
        }
    }
    auto index = read(file, *version, what);
    const std::lock_guard lock(mutex_);
    if (known_words_ + index->places.size() > known_words_max) {
        known_.clear();
        known_words_ = 0;
    }
    const bool is_new = known_.insert_or_assign(file, index).second;  // else of as many words
    known_words_ += is_new ? index->places.size() : 0;
    return index;
}

std::shared_ptr<const ZarrShardIndices::Index> ZarrShardIndices::read(
    const std::string& file, const FileVersion& version, const std::string& what) const {
    const InputFile input(file);
    const std::uint64_t count = 2 * static_cast<std::uint64_t>(volume_of(shards_.chunks));
    const std::uint64_t bytes =
        count * sizeof(std::uint64_t) + (shards_.checksum ? index_checksum_bytes : 0);
    if (bytes > input.size()) {  // before memory is taken for it
        refuse(what, file, text("a file of ", input.size(), " bytes"),
               text("an index of ", bytes, " bytes"));
    }
    std::vector<std::byte> stored(bytes);
    input.read(shards_.index_first ? 0 : input.size() - bytes, stored);
    if (shards_.checksum) {
        check_sum(stored, file, what);
    }
    auto index = std::make_shared<Index>();
    index->file_bytes = input.size();
    index->version = version;
    index->places.resize(count);
    std::memcpy(index->places.data(), stored.data(), count * sizeof(std::uint64_t));
    if (shards_.big_endian == (std::endian::native == std::endian::little)) {
        std::transform(index->places.begin(), index->places.end(), index->places.begin(),
                       [](std::uint64_t word) { return reversed(word); });
    }
    return index;
}

}  // namespace fluvial::store
