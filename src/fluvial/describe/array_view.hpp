// SPDX-License-Identifier: Apache-2.0
/// Typed n-d memory that the view does not own, and the strided copy between two such views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial {

/// Row-major byte strides of a contiguous array.
Coordinates contiguous_strides(const Coordinates& extent, std::size_t element_bytes);

/// Read-only view. Strides are in bytes and may be zero or negative, as in NumPy.
struct ArrayView {
    const std::byte* data = nullptr;
    DType dtype = DType::UInt8;
    Coordinates extent;
    Coordinates strides;
    /// The bytes of each element (of each part, if complex) are in the order that is not this
    /// machine's, as in a big-endian file. compute::Reduction takes such views; nothing else does.
    bool swapped = false;

    ArrayView() = default;
    /// Contiguous in row-major order.
    ArrayView(const void* bytes, DType type, const Coordinates& shape)
        : data(static_cast<const std::byte*>(bytes)),
          dtype(type),
          extent(shape),
          strides(contiguous_strides(shape, size_of(type))) {}
    ArrayView(const void* bytes, DType type, const Coordinates& shape,
              const Coordinates& byte_strides)
        : data(static_cast<const std::byte*>(bytes)),
          dtype(type),
          extent(shape),
          strides(byte_strides) {}

    int ndim() const { return extent.size(); }
    Index size() const { return volume_of(extent); }
    bool is_contiguous() const;
};

/// The same memory, writable.
struct MutableArrayView {
    std::byte* data = nullptr;
    DType dtype = DType::UInt8;
    Coordinates extent;
    Coordinates strides;

    operator ArrayView() const { return {data, dtype, extent, strides}; }
};

/// Part of a view: `inside` in the view's own coordinates (0 is its first element).
ArrayView subview(const ArrayView& view, const Region& inside);
MutableArrayView subview(const MutableArrayView& view, const Region& inside);
/// Every step[axis]-th element along each axis, starting with the first; steps are positive.
ArrayView every(const ArrayView& view, const Coordinates& step);

/// What is put into a step is copied as it lies. Throws InvalidArgument, naming the dataset, for
/// elements in another byte order, strides of other axes than the view has, and no memory at all.
void check_copied_as_is(const ArrayView& data, std::string_view name);

/// Copies element by element; extents and dtypes must be equal. Runs that are contiguous on both
/// sides are moved by one memcpy, whatever the number of axes they span. The two must not overlap.
void copy(const ArrayView& from, const MutableArrayView& to);

}  // namespace fluvial
