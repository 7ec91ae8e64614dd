// SPDX-License-Identifier: Apache-2.0
/// From the other byte order to this machine's.
#pragma once

#include <bit>
#include <cstdint>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::store {

static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big,
              "files are in one of these two orders");

/// Whether big-endian elements of this dtype are not in this machine's order.
inline bool big_endian_is_swapped(DType dtype) {
    return std::endian::native == std::endian::little && size_of(dtype) > 1;
}

/// The word of the same bytes in the other order.
inline std::uint16_t reversed(std::uint16_t word) {
    return __builtin_bswap16(word);
}
inline std::uint32_t reversed(std::uint32_t word) {
    return __builtin_bswap32(word);
}
inline std::uint64_t reversed(std::uint64_t word) {
    return __builtin_bswap64(word);
}

/// Reverses the bytes of every element in place; of each part, if complex.
void swap_bytes(const MutableArrayView& view);

}  // namespace fluvial::store
