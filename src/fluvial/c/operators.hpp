// SPDX-License-Identifier: Apache-2.0
/// Operators as C programs name them: by MPI_Op, by text, with a function of theirs in front.
#pragma once

#include <string>

#include "fluvial/c/fluvial.h"
#include "fluvial/compute/operator.hpp"

namespace fluvial::c {

struct TypedOperator {
    compute::OperatorPtr op;
    DType type;              ///< that the result is wanted in
    bool calls_mpi = false;  ///< while it absorbs and merges
};

/// For elements of `elements`, with results for `type`. `functions` is what the program says of its
/// own MPI_Op, or null. Throws InvalidArgument.
TypedOperator operator_of(MPI_Op op, MPI_Datatype type, DType elements, const char* functions);

/// With results in float64: "quantile q=0.5,0.9 skipna=true". Throws InvalidArgument.
TypedOperator operator_of(const std::string& text);

/// `op` on what `map` makes of `inputs` datasets; `functions` is what the program says of it.
compute::OperatorPtr on_mapped(compute::OperatorPtr op, fluvial_map map, void* context, int inputs,
                               const char* functions);

}  // namespace fluvial::c
