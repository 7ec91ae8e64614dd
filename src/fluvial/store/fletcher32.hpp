// SPDX-License-Identifier: Apache-2.0
/// The checksum of HDF5's filter fletcher32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fluvial::store {

/// Over big-endian words of 16 bits, an odd last byte being the upper half of one. Source: HDF5,
/// H5_checksum_fletcher32.
std::uint32_t fletcher32(std::span<const std::byte> data);

}  // namespace fluvial::store
