// SPDX-License-Identifier: Apache-2.0
/// Kept axes for operators that only know how to reduce everything: one partial a kept position.
#pragma once

#include "fluvial/compute/operator.hpp"

namespace fluvial::compute {

/// The identity partial of `whole_only` over `domain`. `whole_only` sees domains without kept axes:
/// regions and views of the reduced axes alone. Results are stacked: kept shape first, then the
/// shape of one result. Costs one virtual absorb a kept position and piece; operators that need
/// speed here handle cells themselves (compute/run.hpp). Throws InvalidArgument when results of two
/// positions differ in name, dtype or shape (at finish).
std::unique_ptr<Partial> per_cell_identity(const Operator& whole_only, const Domain& domain);

}  // namespace fluvial::compute
