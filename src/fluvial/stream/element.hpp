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
    /// Throws InvalidArgument where `bytes` is not what the items take, and as those that make one.
    void check() const;
};

}  // namespace fluvial::stream
