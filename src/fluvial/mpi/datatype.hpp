// SPDX-License-Identifier: Apache-2.0
/// MPI datatypes with 64-bit counts, on any MPI from 3.1 on: larger counts are composed from
/// derived types.
#pragma once

#include <mpi.h>

#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial::mpi {

/// Move-only and committed. Everything here is local: freeing a datatype is local too, so the
/// destructor frees it, and MPI keeps it alive for operations in flight. MPI must be initialised.
/// Composing takes time in log(count) and no memory in proportion to it.
class Datatype {
  public:
    /// Nothing; MPI_DATATYPE_NULL.
    Datatype() = default;
    /// MPI's named type for `dtype`. Float16, which MPI does not know, is two bytes that can be
    /// moved but not reduced.
    static Datatype of(DType dtype);
    /// `count` elements side by side, any count from 0 on. Throws InvalidArgument for a negative
    /// one.
    static Datatype contiguous(Index count, const Datatype& element);
    /// `bytes` bytes as one element: what carries payloads past 2 GiB through calls that count in
    /// int.
    static Datatype payload(Index bytes);
    /// `count` blocks of `block` elements, whose beginnings lie `stride` elements apart (stride >=
    /// block). The extent is count * stride elements, so that consecutive vectors tile. Throws
    /// InvalidArgument.
    static Datatype vector(Index count, Index block, Index stride, const Datatype& element);
    /// `region` of a row-major array of `shape`; the extent is the whole array's. Throws
    /// InvalidArgument unless the region lies inside.
    static Datatype subarray(const Coordinates& shape, const Region& region,
                             const Datatype& element);

    Datatype(Datatype&& other) noexcept;
    Datatype& operator=(Datatype&& other) noexcept;
    ~Datatype();

    MPI_Datatype handle() const { return handle_; }
    /// Bytes of data in one element.
    Index size() const;
    /// Bytes from the beginning of one element to that of the next.
    Index extent() const;

  private:
    Datatype(MPI_Datatype handle, bool owned) : handle_(handle), owned_(owned) {}
    static Datatype commit(MPI_Datatype derived);
    Datatype resized(Index extent) const;
    Datatype displaced(Index displacement, Index extent) const;

    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
    bool owned_ = false;
};

/// The count and the type that describe `bytes` bytes to a call which counts in int: plain bytes
/// while they fit, one Datatype::payload beyond.
struct Payload {
    explicit Payload(Index bytes);
    Datatype type;
    int count;
};

}  // namespace fluvial::mpi
