// SPDX-License-Identifier: Apache-2.0
/// What an MPI program says about a stream: the types of elements and results, and how results are
/// combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/c/MPIStream.h"
#include "fluvial/mpi/packing.hpp"
#include "fluvial/stream/element.hpp"

namespace fluvial::c {

/// Memory of `count` elements as their type lays them out, zero at first. Throws InvalidArgument
/// where the type's extent lets so many overlap.
class TypedMemory {
  public:
    TypedMemory(const mpi::PackedType& type, std::size_t count);
    void* address() { return reinterpret_cast<std::byte*>(memory_.data()) - lowest_; }
    /// From the packed bytes of all elements, and back.
    void unpack(const std::byte* packed);
    void pack(std::byte* packed) const;
    std::size_t packed_bytes() const { return count_ * type_->bytes(); }
    int count() const { return static_cast<int>(count_); }

  private:
    const mpi::PackedType* type_;
    std::size_t count_;
    std::ptrdiff_t lowest_ = 0;  ///< byte that is used, counted from the first element's address
    /// Has no padding, of which nobody says that it is zero.
    struct alignas(std::max_align_t) Block {
        std::byte bytes[alignof(std::max_align_t)];
    };
    std::vector<Block> memory_;
};

/// How two results become one.
struct Combination {
    MPI_Op op = MPI_OP_NULL;
    MPI_User_function* at_end = nullptr;  ///< of MPIStream_Terminal()
    mpi::PackedType item;                 ///< what `op` works on
    std::size_t items = 1;                ///< of these a result consists
};

struct StreamTypes {
    mpi::PackedType element, process, result;
    int length = 1;  ///< items of the process type in an element
    Combination combination;

    /// Throws InvalidArgument where types and operation do not fit each other. `at_end`: of the
    /// terminal function, if that is of MPIStream_Terminal().
    StreamTypes(MPI_Datatype element, MPI_Datatype result, MPI_Datatype process, MPI_Op terminal,
                MPI_User_function* at_end, const mpi::Comm& comm);

    /// What the stream transports.
    stream::Element transported() const;
    /// The types of elements and results, in words that ranks compare. Types of several items are
    /// known by their bytes.
    std::string describe() const;
};

}  // namespace fluvial::c
