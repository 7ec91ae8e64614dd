// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/datatype.hpp"

#include <limits>
#include <utility>

#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

namespace {

constexpr Index int_max = std::numeric_limits<int>::max();
constexpr Index chunk = Index{1} << 30;

MPI_Datatype named(DType dtype) {
    switch (dtype) {
        case DType::Int8:
            return MPI_INT8_T;
        case DType::Int16:
            return MPI_INT16_T;
        case DType::Int32:
            return MPI_INT32_T;
        case DType::Int64:
            return MPI_INT64_T;
        case DType::UInt8:
            return MPI_UINT8_T;
        case DType::UInt16:
            return MPI_UINT16_T;
        case DType::UInt32:
            return MPI_UINT32_T;
        case DType::UInt64:
            return MPI_UINT64_T;
        case DType::Float16:
            return MPI_DATATYPE_NULL;
        case DType::Float32:
            return MPI_FLOAT;
        case DType::Float64:
            return MPI_DOUBLE;
        case DType::Complex64:
            return MPI_C_FLOAT_COMPLEX;
        case DType::Complex128:
            return MPI_C_DOUBLE_COMPLEX;
    }
    return MPI_DATATYPE_NULL;
}

void check_not_negative(Index value, const char* what) {
    if (value < 0) {
        throw InvalidArgument(Problem{text(what, " is negative"), text(value), "0 or more", ""});
    }
}

}  // namespace

Datatype::Datatype(Datatype&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)),
      owned_(std::exchange(other.owned_, false)) {}

Datatype& Datatype::operator=(Datatype&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(owned_, other.owned_);
    return *this;
}

Datatype::~Datatype() {
    if (owned_ && !finalized()) {
        MPI_Type_free(&handle_);
    }
}

Datatype Datatype::commit(MPI_Datatype derived) {
    Datatype type(derived, true);
    check(MPI_Type_commit(&type.handle_), "commit a datatype");
    return type;
}

Datatype Datatype::of(DType dtype) {
    const MPI_Datatype type = named(dtype);
    if (type != MPI_DATATYPE_NULL) {
        return Datatype(type, false);
    }
    return contiguous(static_cast<Index>(size_of(dtype)), Datatype(MPI_BYTE, false));
}

Datatype Datatype::contiguous(Index count, const Datatype& element) {
    check_not_negative(count, "the count of a contiguous datatype");
    MPI_Datatype derived = MPI_DATATYPE_NULL;
    if (count <= int_max) {
        check(MPI_Type_contiguous(static_cast<int>(count), element.handle_, &derived),
              "create a contiguous datatype");
        return commit(derived);
    }
    // count = many * chunk + rest, each of which fits in an int.
    const Datatype piece = contiguous(chunk, element);
    const Datatype many = contiguous(count / chunk, piece);
    const Datatype rest = contiguous(count % chunk, element);
    int lengths[] = {1, 1};
    MPI_Aint displacements[] = {0, static_cast<MPI_Aint>(count / chunk * chunk * element.extent())};
    MPI_Datatype parts[] = {many.handle_, rest.handle_};
    check(MPI_Type_create_struct(2, lengths, displacements, parts, &derived),
          "create a contiguous datatype of more than 2^31 elements");
    return commit(derived);
}

Datatype Datatype::payload(Index bytes) {
    return contiguous(bytes, Datatype(MPI_BYTE, false));
}

Datatype Datatype::vector(Index count, Index block, Index stride, const Datatype& element) {
    check_not_negative(count, "the count of a vector datatype");
    check_not_negative(block, "the block length of a vector datatype");
    if (stride < block) {
        throw InvalidArgument(Problem{"the blocks of a vector datatype overlap",
                                      text("stride ", stride),
                                      text(block, " (the block length) or more"), ""});
    }
    return contiguous(count, contiguous(block, element).resized(stride * element.extent()));
}

Datatype Datatype::subarray(const Coordinates& shape, const Region& region,
                            const Datatype& element) {
    check_inside(region, shape, "region of a subarray datatype");
    // From the innermost axis outwards: a row of rows, each resized to the whole array's row.
    Index bytes = element.extent();
    Index first = 0;
    Datatype row = contiguous(1, element);
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
        first += region.offset[axis] * bytes;
        row = contiguous(region.extent[axis], row);
        bytes *= shape[axis];
        row = row.resized(bytes);
    }
    return row.displaced(first, bytes);
}

Datatype Datatype::resized(Index extent) const {
    MPI_Datatype derived = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(handle_, 0, static_cast<MPI_Aint>(extent), &derived),
          "resize a datatype");
    return commit(derived);
}

Datatype Datatype::displaced(Index displacement, Index extent) const {
    int one = 1;
    MPI_Aint at = static_cast<MPI_Aint>(displacement);
    MPI_Datatype derived = MPI_DATATYPE_NULL;
    MPI_Datatype here = handle_;
    check(MPI_Type_create_struct(1, &one, &at, &here, &derived), "displace a datatype");
    return Datatype(derived, true).resized(extent);
}

Index Datatype::size() const {
    MPI_Count bytes = 0;
    check(MPI_Type_size_x(handle_, &bytes), "tell the size of a datatype");
    return static_cast<Index>(bytes);
}

Index Datatype::extent() const {
    MPI_Count lower = 0;
    MPI_Count bytes = 0;
    check(MPI_Type_get_extent_x(handle_, &lower, &bytes), "tell the extent of a datatype");
    return static_cast<Index>(bytes);
}

Payload::Payload(Index bytes)
    : type(bytes <= int_max ? Datatype::of(DType::UInt8) : Datatype::payload(bytes)),
      count(bytes <= int_max ? to_int(bytes, "the length of a message") : 1) {}

}  // namespace fluvial::mpi
