// SPDX-License-Identifier: Apache-2.0
/// Elements and results of one type as those of another, without loss of meaning.
#pragma once

#include <string>

#include "fluvial/c/fluvial.h"
#include "fluvial/compute/operator.hpp"

namespace fluvial::c {

/// Every element of `from`, row-major, as elements of `to` at `out`; floating-point numbers are
/// rounded to floating-point types. Throws OutOfRange for one that `to` cannot hold (too large, or
/// with a fraction where `to` is an integer type), InvalidArgument for complex dtypes.
void convert(const ArrayView& from, DType to, void* out);

/// Throws InvalidArgument for elements that C has no type for; `name` is the dataset's.
MPI_Datatype type_in_c(DType dtype, const std::string& name);

/// `op` on elements converted to `to`.
compute::OperatorPtr on_converted(compute::OperatorPtr op, DType to);

}  // namespace fluvial::c
