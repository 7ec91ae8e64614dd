// SPDX-License-Identifier: Apache-2.0
/// How the file of a stream's steps on a disk begins.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"

namespace fluvial::stage {

/// Each of the writer's hosts has a log of its own.
struct LogHead {
    std::string name;        ///< of the stream
    std::vector<int> ranks;  ///< of the writer, on this host
    int host = 0;
    int hosts = 1;
    std::uint64_t run = 0;  ///< the same on all hosts, and of no other writer
};

/// In the file, of a host with so many ranks.
std::uint64_t head_bytes(std::uint64_t ranks);
Bytes encode_head(const LogHead& head);
/// As many bytes as tell how long the head is, at least.
inline constexpr std::uint64_t head_bytes_min = 272;
/// Of a file that begins with `bytes`. Throws DamagedFile when that is no head of this version.
std::uint64_t head_bytes_of(std::span<const std::byte> bytes);
/// The whole of it. Throws DamagedFile.
LogHead decode_head(std::span<const std::byte> bytes);

}  // namespace fluvial::stage
