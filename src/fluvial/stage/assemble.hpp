// SPDX-License-Identifier: Apache-2.0
/// Which chunk supplies which part of a region.
#pragma once

#include <string>
#include <vector>

#include "fluvial/stage/step_record.hpp"

namespace fluvial::stage {

struct Part {
    const Chunk* chunk;
    Region region;  ///< global coordinates, inside the chunk
};

/// Disjoint parts that together are `region`; where chunks overlap, the one that was put later (by
/// the higher rank) supplies the elements. Throws Error that names an uncovered region: data that
/// no rank wrote is never made up.
std::vector<Part> assemble(const std::string& name, const std::vector<Chunk>& chunks,
                           const Region& region);

/// The elements of `part`, in place.
ArrayView view_of(const Part& part, DType dtype);

}  // namespace fluvial::stage
