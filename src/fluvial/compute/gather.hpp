// SPDX-License-Identifier: Apache-2.0
/// Strided values of one dtype to contiguous values of another: what kernels are fed with.
#pragma once

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::compute {

using Gather = void (*)(const std::byte* from, Index stride_bytes, Index count, void* to);

/// Conversions that exist: a dtype to itself, float16 to float32, any real dtype to float64, any
/// dtype to complex128. Throws InvalidArgument for others. `swapped`: the bytes of each element (of
/// each part, if complex) come in the other order. `from` may lie at any address.
Gather gather_function(DType from, DType to, bool swapped = false);

}  // namespace fluvial::compute
