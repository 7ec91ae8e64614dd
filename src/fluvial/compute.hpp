// SPDX-License-Identifier: Apache-2.0
/// All that a program needs that computes with operators, or defines its own: one reduction over
/// arrays that it holds, operators by name, derived quantities, and the parts of an operator.
#pragma once

#include "fluvial/base/error.hpp"
#include "fluvial/compute/apply.hpp"
#include "fluvial/compute/operator.hpp"
#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/compute/operators/structure_factor.hpp"
#include "fluvial/compute/reduction.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/run.hpp"
#include "fluvial/compute/state.hpp"
#include "fluvial/compute/sums.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"
#include "fluvial/describe/selection.hpp"
