// SPDX-License-Identifier: Apache-2.0
/// MPI_Op on memory of this rank, and MPI's names of element types: what reductions of a user's own
/// operations need.
#pragma once

#include <optional>
#include <string>

#include <mpi.h>

#include "fluvial/describe/dtype.hpp"

namespace fluvial::mpi {

/// The dtype of a predefined MPI type, of its C, Fortran or fixed-width name. Local. Throws
/// InvalidArgument for others.
DType element_type(MPI_Datatype type);
/// The C type's name in MPI; nothing for float16.
std::optional<MPI_Datatype> c_type(DType dtype);

/// What ranks may compare: "MPI_SUM" and so on, "an MPI_Op" for operations of programs,
/// "MPI_OP_NULL".
const char* name_of(MPI_Op op);
/// "MPI_DOUBLE" and so on; "several types" for MPI_DATATYPE_NULL, as only_item() says it.
std::string name_of_item(MPI_Datatype item);

/// The operations that Fluvial has operators of its own for.
enum class Operation : std::uint8_t { Sum, Product, Min, Max, MinLocation, MaxLocation, Other };
Operation operation_of(MPI_Op op);

/// Throws InvalidArgument unless reduce_local() can be called: for MPI_OP_NULL, MPI_REPLACE,
/// MPI_NO_OP, location operations, operations that do not commute, and logical and bitwise ones on
/// floating-point types, for which MPI would end the job. Local.
void check_local_operation(MPI_Op op, MPI_Datatype type);

/// Whether `op` may be called with elements of `type`: anything but MPI_OP_NULL, MPI_REPLACE,
/// MPI_NO_OP and predefined operations on types that MPI has not defined them for, where MPI would
/// end the job. Local; tries a predefined one on a single element, with errors of MPI returned
/// meanwhile.
bool can_reduce(MPI_Op op, MPI_Datatype type);
/// MPI_SUM and so on: defined on predefined types alone.
bool is_predefined(MPI_Op op);
bool commutes(MPI_Op op);
/// An operation that need not commute, and its end. Local.
MPI_Op create_operation(MPI_User_function* function);
void free_operation(MPI_Op op);

/// inout[i] = in[i] ∘ inout[i]. Local; from several threads at once only under
/// MPI_THREAD_MULTIPLE.
void reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);

}  // namespace fluvial::mpi
