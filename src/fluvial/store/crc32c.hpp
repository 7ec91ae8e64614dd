// SPDX-License-Identifier: Apache-2.0
/// The checksum CRC-32C (Castagnoli), RFC 3720, section 12.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fluvial::store {

std::uint32_t crc32c(std::span<const std::byte> data);

}  // namespace fluvial::store
