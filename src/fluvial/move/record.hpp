// SPDX-License-Identifier: Apache-2.0
/// How elements of varying size lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fluvial::move {

/// An element of varying size is a record: its length in 8 bytes, then its bytes, padded to a
/// multiple of 8. A length of `skip_record` is padding to the end of the batch.
inline constexpr std::uint64_t skip_record = ~std::uint64_t{0};
inline std::size_t record_bytes(std::size_t bytes) {
    return 8 + (bytes + 7) / 8 * 8;
}

}  // namespace fluvial::move
