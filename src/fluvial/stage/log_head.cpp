// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/log_head.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr char log_magic[8] = {'F', 'L', 'U', 'S', 'T', 'E', 'P', 'S'};
constexpr std::uint32_t log_version = 3;

struct StoredHead {
    char magic[8];
    std::uint32_t version;
    std::uint32_t writer_ranks;
    char name[240];
    std::uint64_t run;
    std::uint32_t host;
    std::uint32_t hosts;  ///< behind it each rank's number among all, and a checksum
};
static_assert(sizeof(StoredHead) == head_bytes_min);

StoredHead stored_head(std::span<const std::byte> bytes) {
    StoredHead stored{};
    std::memcpy(&stored, bytes.data(), std::min(bytes.size(), sizeof stored));
    if (bytes.size() < sizeof stored ||
        std::memcmp(stored.magic, log_magic, sizeof log_magic) != 0 ||
        stored.version != log_version) {
        throw DamagedFile(Problem{"this is not the head of retained steps of this version",
                                  text(bytes.size(), " bytes, version ", stored.version),
                                  text(sizeof stored, " bytes or more, version ", log_version),
                                  "Read it with the version of Fluvial that wrote it"});
    }
    stored.name[sizeof stored.name - 1] = '\0';
    return stored;
}

}  // namespace

std::uint64_t head_bytes(std::uint64_t ranks) {
    const std::uint64_t pairs = (ranks + 1) / 2;
    return sizeof(StoredHead) + pairs * 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
}

Bytes encode_head(const LogHead& head) {
    StoredHead stored{};
    std::memcpy(stored.magic, log_magic, sizeof log_magic);
    stored.version = log_version;
    stored.writer_ranks = static_cast<std::uint32_t>(head.ranks.size());
    std::memcpy(stored.name, head.name.data(), std::min(head.name.size(), sizeof stored.name - 1));
    stored.run = head.run;
    stored.host = static_cast<std::uint32_t>(head.host);
    stored.hosts = static_cast<std::uint32_t>(head.hosts);
    Bytes bytes(head_bytes(head.ranks.size()));
    std::memcpy(bytes.data(), &stored, sizeof stored);
    std::memcpy(bytes.data() + sizeof stored, head.ranks.data(),
                head.ranks.size() * sizeof(std::uint32_t));
    const auto content = std::span(bytes).first(bytes.size() - sizeof(std::uint64_t));
    const std::uint64_t checksum = checksum_of(content);
    std::memcpy(bytes.data() + content.size(), &checksum, sizeof checksum);
    return bytes;
}

std::uint64_t head_bytes_of(std::span<const std::byte> bytes) {
    return head_bytes(stored_head(bytes).writer_ranks);
}

LogHead decode_head(std::span<const std::byte> bytes) {
    const StoredHead stored = stored_head(bytes);
    const bool whole = bytes.size() == head_bytes(stored.writer_ranks);
    const auto content = bytes.first(whole ? bytes.size() - sizeof(std::uint64_t) : 0);
    std::uint64_t checksum = 0;
    if (whole) {
        std::memcpy(&checksum, bytes.data() + content.size(), sizeof checksum);
    }
    if (!whole || checksum != checksum_of(content)) {
        throw DamagedFile(Problem{"the head of the steps on the disk is damaged",
                                  whole ? "another checksum" : "the file ends within it",
                                  "the head as it was written", "Look after the disk"});
    }
    std::vector<int> ranks(stored.writer_ranks);
    std::memcpy(ranks.data(), bytes.data() + sizeof stored, ranks.size() * sizeof(int));
    return {stored.name, std::move(ranks), static_cast<int>(stored.host),
            static_cast<int>(stored.hosts), stored.run};
}

}  // namespace fluvial::stage
