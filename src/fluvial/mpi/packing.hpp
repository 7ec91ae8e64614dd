// SPDX-License-Identifier: Apache-2.0
/// Elements of any MPI datatype as the bytes that they consist of: what a message would carry,
/// written straight to where it is wanted.
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// The data bytes of one element, in the order of the type map and without gaps. Where they lie in
/// an element is learnt once, from MPI_Pack; then elements are copied without MPI. Types that span
/// more than 64 MiB, or that are cut up too finely, are packed by MPI each time.
///
/// Move-only. Holds a duplicate of a derived type: the user's may be freed. Local.
class PackedType {
  public:
    /// Nothing: no bytes.
    PackedType() = default;
    /// `comm` is one that returns errors, and outlives this object. Throws InvalidArgument for
    /// MPI_DATATYPE_NULL, types without data and those of 2 GiB or more.
    PackedType(MPI_Datatype type, const Comm& comm);
    PackedType(PackedType&& other) noexcept;
    PackedType& operator=(PackedType&& other) noexcept;
    ~PackedType();

    MPI_Datatype handle() const { return type_; }
    std::size_t bytes() const { return bytes_; }
    /// From the beginning of one element in memory to that of the next.
    std::ptrdiff_t extent() const { return extent_; }
    /// Elements that lie side by side in memory are those bytes already.
    bool contiguous() const { return contiguous_; }

    /// Memory that one element needs, from first_byte() on, counted from its address.
    std::size_t span() const { return span_; }
    std::ptrdiff_t first_byte() const { return first_; }

    /// Throws SystemError when MPI fails.
    void pack(const void* element, std::byte* room) const;
    /// The other way; the gaps of `element` stay as they are.
    void unpack(const std::byte* packed, void* element) const;

  private:
    /// `count` equal blocks, `stride` bytes apart.
    struct Strip {
        std::ptrdiff_t offset = 0;
        std::size_t bytes = 0;
        std::ptrdiff_t stride = 0;
        std::size_t count = 0;
    };

    bool learn();
    void add(std::ptrdiff_t offset, std::size_t bytes);
    void pack_by_mpi(const void* element, std::byte* room) const;

    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    bool owned_ = false;
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::size_t bytes_ = 0, span_ = 0;
    std::ptrdiff_t extent_ = 0, first_ = 0;
    bool contiguous_ = false;
    std::vector<Strip> strips_;  ///< in the order of the type map; none: by MPI
};

/// The one predefined type that `type` is made of, with any layout (MPI_INT for a vector of
/// MPI_INT); MPI_DATATYPE_NULL when there are several. Local.
MPI_Datatype only_item(MPI_Datatype type);

}  // namespace fluvial::mpi
