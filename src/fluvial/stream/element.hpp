// SPDX-License-Identifier: Apache-2.0
/// The unit of a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial::stream {

/// Packed: elements lie side by side without gaps, wherever they are on their way.
struct Element {
    /// `shape` items of `dtype`; a single one by default.
    static Element of(DType dtype, const Coordinates& shape = {});
    /// Opaque bytes (1 or more), for structs and packed MPI datatypes.
    static Element opaque(std::size_t bytes);
    /// Elements of 0 to `bytes_max` bytes, each with its own length.
    static Element varying(std::size_t bytes_max);

    DType dtype = DType::UInt8;
    Coordinates shape;
    std::size_t bytes = 1;  ///< of an element; the greatest when they vary
    bool varies = false;

    std::size_t item_bytes() const { return size_of(dtype); }
};

/// An element of varying size is a record: its length in 8 bytes, then its bytes, padded to a
/// multiple of 8. A length of `skip_record` is padding to the end of the batch.
inline constexpr std::uint64_t skip_record = ~std::uint64_t{0};
inline std::size_t record_bytes(std::size_t bytes) {
    return 8 + (bytes + 7) / 8 * 8;
}

}  // namespace fluvial::stream
