// SPDX-License-Identifier: Apache-2.0
/// Operators from functions of MPI_User_function type: what is passed to MPI_Op_create also reduces
/// here. This header knows no MPI: the type of the datatype argument is erased.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fluvial/compute/operator.hpp"

namespace fluvial::compute {

/// MPI_User_function: inout[i] = in[i] ∘ inout[i] for i < *length.
using MPIUserFunction = void (*)(void* in, void* inout, int* length, void* datatype);

/// An operator on one input of exactly this dtype, with the result in that dtype. `function` must
/// be associative and commutative (chunks arrive in any order), and is called from the thread that
/// absorbs, without the GIL. `datatype` holds the bits of an MPI_Datatype; the function gets a
/// pointer to it, as MPI would pass, and 0 is right for functions that do not look. A long run
/// costs log2(length) calls. Of nothing: InvalidArgument, since no identity is known. Weights are
/// refused. `declared` (base/terms.hpp) is what ranks know the function by: its name and version.
OperatorPtr make_mpi_operator(MPIUserFunction function, DType dtype, std::uintptr_t datatype = 0,
                              std::string declared = "a function");

/// inout[i] = in[i] ∘ inout[i] for i < length, for code that calls the function itself, as
/// MPI_Reduce_local does.
using Fold = std::function<void(const void* in, void* inout, int length)>;

/// The same, of a fold; called by several threads at once. Throws what the fold throws.
OperatorPtr make_fold_operator(Fold fold, DType dtype, std::string declared = "a function");

}  // namespace fluvial::compute
