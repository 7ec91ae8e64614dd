// SPDX-License-Identifier: Apache-2.0
/// What a strategy has not assigned, for strategies that do not keep account of it.
#pragma once

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

/// The parts of the request's chunks that `made.assigned` does not cover. Time in proportion to the
/// pieces of a chunk, times the parts that are left of it.
std::vector<Piece> rest_of(const Request& request, const Distribution& made);

}  // namespace fluvial::distribute
