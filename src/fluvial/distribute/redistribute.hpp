// SPDX-License-Identifier: Apache-2.0
/// Which rank sends which part of a global array to which: ranks have it cut in one way and want it
/// cut in another (redistribution, M×N coupling). Local, and the same on all ranks that are given
/// the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fluvial/describe/region.hpp"

namespace fluvial::distribute {

/// A box of the global array, and the rank that has it or wants it.
struct Share {
    int rank = 0;
    Region region;
};

/// Elements that go from one share that is held to one that is wanted.
struct Transfer {
    std::size_t held = 0, wanted = 0;  ///< positions of the shares
    Region region;
};

/// All transfers by which each wanted share gets each of its elements once; ordered by the rank
/// that has them, then the rank that wants them, then positions. Several shares may want the same
/// element. Throws InvalidArgument where two shares hold the same element, and where none holds one
/// that is wanted. The cost is that of overlapping() (overlap.hpp).
std::vector<Transfer> transfers_between(std::span<const Share> held, std::span<const Share> wanted);

}  // namespace fluvial::distribute
