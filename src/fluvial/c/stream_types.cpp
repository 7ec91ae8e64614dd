// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/stream_types.hpp"

#include <limits>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace fluvial::c {
namespace {

/// Of memory that nobody has.
constexpr std::size_t apart_max = std::numeric_limits<std::ptrdiff_t>::max() / 4;

/// The bytes from the first of `count` items to the last, which lies below it where the extent is
/// negative, as MPI allows. Throws InvalidArgument where so many must overlap, or lie too far
/// apart.
std::size_t distance_of_last(const mpi::PackedType& type, std::size_t count) {
    if (count <= 1) {
        return 0;
    }
    const auto forwards = static_cast<std::size_t>(type.extent());
    const std::size_t extent = type.extent() < 0 ? 0 - forwards : forwards;
    const bool near = extent <= apart_max / (count - 1);
    const std::size_t distance = near ? (count - 1) * extent : 0;
    if (!near || distance + type.span() < count * type.bytes()) {
        throw InvalidArgument(Problem{
            near ? "items of a datatype would overlap in memory"
                 : "items of a datatype lie too far apart",
            text(count, " with an extent of ", type.extent(), " bytes each"),
            near ? text("items apart, as by an extent of ", type.bytes(), " bytes, their size")
                 : text("at most ", apart_max, " bytes for all"),
            "Give the type another extent by MPI_Type_create_resized"});
    }
    return distance;
}

Combination combination_of(MPI_Op op, MPI_User_function* at_end, const mpi::PackedType& result,
                           const mpi::PackedType& process, const mpi::Comm& comm) {
    Combination combination{op, at_end, {}, 1};
    if (op == MPI_OP_NULL) {
        return combination;
    }
    const MPI_Datatype item = mpi::only_item(result.handle());
    MPI_Datatype type = result.handle();
    if (mpi::is_predefined(op)) {
        type = item;
        if (!mpi::can_reduce(op, item)) {
            throw InvalidArgument(
                Problem{"the terminal function of a stream cannot combine its results",
                        item == MPI_DATATYPE_NULL
                            ? "a predefined MPI_Op on a result of several types"
                            : "a predefined MPI_Op that MPI does not define for the result's type",
                        "a predefined MPI_Op on a result of one predefined type that it is for",
                        "Make an MPI_Op of your own, by MPI_Op_create or MPIStream_Terminal"});
        }
    } else if (item != MPI_DATATYPE_NULL && item == mpi::only_item(process.handle()) &&
               result.bytes() % process.bytes() == 0) {
        type = process.handle();
    }
    combination.item = mpi::PackedType(type, comm);
    combination.items = result.bytes() / combination.item.bytes();
    distance_of_last(combination.item, combination.items);
    return combination;
}

}  // namespace

TypedMemory::TypedMemory(const mpi::PackedType& type, std::size_t count)
    : type_(&type), count_(count) {
    const std::size_t distance = distance_of_last(type, count);
    lowest_ = type.first_byte() -
              (type.extent() < 0 ? static_cast<std::ptrdiff_t>(distance) : std::ptrdiff_t{0});
    memory_.resize((distance + type.span()) / sizeof(Block) + 1);
}

void TypedMemory::unpack(const std::byte* packed) {
    auto* to = static_cast<std::byte*>(address());
    for (std::size_t i = 0; i < count_; ++i, packed += type_->bytes(), to += type_->extent()) {
        type_->unpack(packed, to);
    }
}

void TypedMemory::pack(std::byte* packed) const {
    const auto* from = static_cast<const std::byte*>(const_cast<TypedMemory*>(this)->address());
    for (std::size_t i = 0; i < count_; ++i, packed += type_->bytes(), from += type_->extent()) {
        type_->pack(from, packed);
    }
}

StreamTypes::StreamTypes(MPI_Datatype element_type, MPI_Datatype result_type,
                         MPI_Datatype process_type, MPI_Op terminal, MPI_User_function* at_end,
                         const mpi::Comm& comm)
    : element(element_type, comm),
      process(process_type == MPI_DATATYPE_NULL ? element_type : process_type, comm),
      result(result_type, comm) {
    if (element.bytes() % process.bytes() != 0) {
        throw InvalidArgument(
            Problem{"a stream's element is not a number of items of its process type",
                    text(element.bytes(), " and ", process.bytes(), " bytes"),
                    "a multiple of the process type", "Pass MPI_DATATYPE_NULL as process type"});
    }
    length = static_cast<int>(element.bytes() / process.bytes());
    combination = combination_of(terminal, at_end, result, process, comm);
}

stream::Element StreamTypes::transported() const {
    return stream::Element::opaque(element.bytes());
}

std::string StreamTypes::describe() const {
    const auto item = [](const mpi::PackedType& type) {
        return mpi::name_of_item(mpi::only_item(type.handle()));
    };
    return text(item(element), " as ", length, " of the process type, results of ", result.bytes(),
                " bytes, ", item(result), ",");
}

}  // namespace fluvial::c
