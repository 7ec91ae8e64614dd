// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/local_operation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {
namespace {

/// The first entry of a dtype is its C name. Not constexpr: Open MPI's handles are addresses.
const auto& types() {
    static const std::array<std::pair<MPI_Datatype, DType>, 23> all = {{
        {MPI_SIGNED_CHAR, DType::Int8},
        {MPI_SHORT, DType::Int16},
        {MPI_INT, DType::Int32},
        {MPI_LONG_LONG, DType::Int64},
        {MPI_UNSIGNED_CHAR, DType::UInt8},
        {MPI_UNSIGNED_SHORT, DType::UInt16},
        {MPI_UNSIGNED, DType::UInt32},
        {MPI_UNSIGNED_LONG_LONG, DType::UInt64},
        {MPI_FLOAT, DType::Float32},
        {MPI_DOUBLE, DType::Float64},
        {MPI_LONG, dtype_of<long>()},
        {MPI_UNSIGNED_LONG, dtype_of<unsigned long>()},
        {MPI_OFFSET, dtype_of<MPI_Offset>()},
        {MPI_AINT, dtype_of<MPI_Aint>()},
        {MPI_COUNT, dtype_of<MPI_Count>()},
        {MPI_INT8_T, DType::Int8},
        {MPI_INT16_T, DType::Int16},
        {MPI_INT32_T, DType::Int32},
        {MPI_INT64_T, DType::Int64},
        {MPI_UINT8_T, DType::UInt8},
        {MPI_UINT16_T, DType::UInt16},
        {MPI_UINT32_T, DType::UInt32},
        {MPI_UINT64_T, DType::UInt64},
    }};
    return all;
}

const auto& predefined() {
    static const std::array<std::pair<MPI_Op, const char*>, 14> all = {{
        {MPI_SUM, "MPI_SUM"},
        {MPI_PROD, "MPI_PROD"},
        {MPI_MIN, "MPI_MIN"},
        {MPI_MAX, "MPI_MAX"},
        {MPI_MINLOC, "MPI_MINLOC"},
        {MPI_MAXLOC, "MPI_MAXLOC"},
        {MPI_LAND, "MPI_LAND"},
        {MPI_LOR, "MPI_LOR"},
        {MPI_LXOR, "MPI_LXOR"},
        {MPI_BAND, "MPI_BAND"},
        {MPI_BOR, "MPI_BOR"},
        {MPI_BXOR, "MPI_BXOR"},
        {MPI_REPLACE, "MPI_REPLACE"},
        {MPI_NO_OP, "MPI_NO_OP"},
    }};
    return all;
}

bool is_any_of(MPI_Op op, std::initializer_list<MPI_Op> these) {
    return std::find(these.begin(), these.end(), op) != these.end();
}

[[noreturn]] void refuse(const char* seen) {
    throw InvalidArgument(Problem{
        "this MPI_Op cannot reduce a dataset", seen,
        "MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_MINLOC, MPI_MAXLOC, logical and bitwise ones on "
        "integers, and operations of MPI_Op_create that commute",
        ""});
}

/// Of one that is no type of elements; MPI itself ends a program that asks it for the name of one
/// that is none.
const char* said_of(MPI_Datatype type) {
    return type == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
           : type == MPI_BYTE        ? "MPI_BYTE"
           : type == MPI_CHAR        ? "MPI_CHAR"
                                     : "another MPI_Datatype";
}

}  // namespace

DType element_type(MPI_Datatype type) {
    for (const auto& [name, dtype] : types()) {
        if (name == type) {
            return dtype;
        }
    }
    throw InvalidArgument(Problem{"not a type of elements", said_of(type),
                                  "MPI_FLOAT, MPI_DOUBLE, MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, "
                                  "MPI_LONG, MPI_LONG_LONG and their unsigned kin, MPI_INT8_T to "
                                  "MPI_UINT64_T",
                                  ""});
}

std::optional<MPI_Datatype> c_type(DType dtype) {
    for (const auto& [name, same] : types()) {
        if (same == dtype) {
            return name;
        }
    }
    return std::nullopt;
}

const char* name_of(MPI_Op op) {
    for (const auto& [known, name] : predefined()) {
        if (known == op) {
            return name;
        }
    }
    return op == MPI_OP_NULL ? "MPI_OP_NULL" : "an MPI_Op";
}

std::string name_of_item(MPI_Datatype item) {
    if (item == MPI_DATATYPE_NULL) {
        return "several types";
    }
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    check(MPI_Type_get_name(item, name, &length), "tell the name of a datatype");
    return {name, static_cast<std::size_t>(length)};
}

Operation operation_of(MPI_Op op) {
    const std::pair<MPI_Op, Operation> known[] = {
        {MPI_SUM, Operation::Sum},
        {MPI_PROD, Operation::Product},
        {MPI_MIN, Operation::Min},
        {MPI_MAX, Operation::Max},
        {MPI_MINLOC, Operation::MinLocation},
        {MPI_MAXLOC, Operation::MaxLocation},
    };
    for (const auto& [name, operation] : known) {
        if (name == op) {
            return operation;
        }
    }
    return Operation::Other;
}

void check_local_operation(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL) {
        refuse("MPI_OP_NULL");
    }
    if (is_any_of(op, {MPI_REPLACE, MPI_NO_OP})) {
        refuse("MPI_REPLACE or MPI_NO_OP");
    }
    if (is_any_of(op, {MPI_MINLOC, MPI_MAXLOC})) {
        refuse("a location operation on single elements");
    }
    const bool whole_numbers =
        is_any_of(op, {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR});
    if (whole_numbers && is_floating(element_type(type))) {
        refuse("a logical or bitwise operation on a floating-point type");
    }
    int commutes = 0;
    check(MPI_Op_commutative(op, &commutes), "inspect an MPI_Op");
    if (commutes == 0) {
        refuse("an operation that does not commute");
    }
}

/// MPI_Reduce_local has no communicator whose error handler it could ask: MPI's versions take that
/// of the one or the other.
class ErrorsReturned {
  public:
    ErrorsReturned() {
        for (auto& [comm, before] : handlers_) {
            MPI_Comm_get_errhandler(comm, &before);
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        }
    }
    ErrorsReturned(const ErrorsReturned&) = delete;
    ~ErrorsReturned() {
        for (auto& [comm, before] : handlers_) {
            MPI_Comm_set_errhandler(comm, before);
            MPI_Errhandler_free(&before);
        }
    }

  private:
    std::pair<MPI_Comm, MPI_Errhandler> handlers_[2] = {{MPI_COMM_WORLD, MPI_ERRHANDLER_NULL},
                                                        {MPI_COMM_SELF, MPI_ERRHANDLER_NULL}};
};

bool can_reduce(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL || is_any_of(op, {MPI_REPLACE, MPI_NO_OP})) {
        return false;
    }
    if (!is_predefined(op)) {
        return true;
    }
    alignas(std::max_align_t) std::byte in[64] = {}, inout[64] = {};
    MPI_Count first = 0, span = 0;
    check(MPI_Type_get_true_extent_x(type, &first, &span), "tell the extent of a datatype");
    if (first != 0 || span > static_cast<MPI_Count>(sizeof in)) {
        return false;  // not a predefined type
    }
    const ErrorsReturned errors_returned;
    return MPI_Reduce_local(in, inout, 1, type, op) == MPI_SUCCESS;
}

bool is_predefined(MPI_Op op) {
    return std::any_of(predefined().begin(), predefined().end(),
                       [&](const auto& known) { return known.first == op; });
}

bool commutes(MPI_Op op) {
    int commutes = 0;
    check(MPI_Op_commutative(op, &commutes), "inspect an MPI_Op");
    return commutes != 0;
}

MPI_Op create_operation(MPI_User_function* function) {
    MPI_Op op = MPI_OP_NULL;
    check(MPI_Op_create(function, 0, &op), "create an operation");
    return op;
}

void free_operation(MPI_Op op) {
    if (running()) {
        check(MPI_Op_free(&op), "free an operation");
    }
}

void reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
    check(MPI_Reduce_local(in, inout, count, type, op), "apply an MPI_Op");
}

}  // namespace fluvial::mpi
