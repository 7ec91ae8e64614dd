// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/assemble.hpp"

#include "fluvial/base/error.hpp"

namespace fluvial::stage {

std::vector<Part> assemble(const std::string& name, const std::vector<Chunk>& chunks,
                           const Region& region) {
    std::vector<Part> parts;
    if (region.empty()) {
        return parts;
    }
    std::vector<Region> missing = {region};
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend() && !missing.empty(); ++chunk) {
        if (chunk->region.empty() || !intersect(chunk->region, region)) {
            continue;
        }
        std::vector<Region> still_missing;
        for (const Region& hole : missing) {
            if (const auto common = intersect(hole, chunk->region)) {
                parts.push_back({&*chunk, *common});
                const auto rest = subtract(hole, *common);
                still_missing.insert(still_missing.end(), rest.begin(), rest.end());
            } else {
                still_missing.push_back(hole);
            }
        }
        missing = std::move(still_missing);
    }
    if (!missing.empty()) {
        throw Error(Problem{
            text("part of '", name, "' was not written in this step"), text(missing.front()), "",
            "Select what the chunk list covers, or let the writer put the whole dataset"});
    }
    return parts;
}

ArrayView view_of(const Part& part, DType dtype) {
    Region inside = part.region;
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        inside.offset[axis] -= part.chunk->region.offset[axis];
    }
    return subview(ArrayView(part.chunk->here(), dtype, part.chunk->region.extent), inside);
}

}  // namespace fluvial::stage
