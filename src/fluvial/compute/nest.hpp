// SPDX-License-Identifier: Apache-2.0
/// The order in which the elements of a piece are visited: as few and as long loops as its memory
/// layout, the kept axes and the positions allow.
#pragma once

#include "fluvial/compute/run.hpp"

namespace fluvial::compute {

/// One loop, with the stride of everything that moves along: bytes for inputs, weights and mask;
/// cells; positions.
struct Loop {
    Index count = 1;
    Index input[run_inputs_max] = {};
    Index weights = 0, mask = 0, cell = 0, position = 0;
};

/// Loops over the piece, outermost first.
struct Nest {
    Loop loops[ndim_max + 1];
    int depth = 0;
    Index cell = 0, position = 0;  ///< of the piece's first element
};

/// Fuses axes that lie one behind the other, innermost first in memory whatever their order in the
/// array.
Nest make_nest(const Piece& piece, const Domain& domain, const RunNeeds& needs);

}  // namespace fluvial::compute
