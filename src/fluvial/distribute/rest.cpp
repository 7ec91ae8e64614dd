// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/rest.hpp"

namespace fluvial::distribute {

std::vector<Piece> rest_of(const Request& request, const Distribution& made) {
    std::vector<std::vector<Region>> parts(request.chunks.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = {request.chunks[i].region};
    }
    for (const auto& [reader, piece] : made.assigned) {
        if (piece.chunk >= parts.size() ||
            piece.region.ndim() != request.chunks[piece.chunk].region.ndim() ||
            piece.region.ndim() != piece.region.offset.size()) {
            continue;  // assign() says so
        }
        std::vector<Region> outside;
        for (const Region& part : parts[piece.chunk]) {
            const auto rest = subtract(part, piece.region);
            outside.insert(outside.end(), rest.begin(), rest.end());
        }
        parts[piece.chunk] = std::move(outside);
    }
    std::vector<Piece> rest;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (const Region& part : parts[i]) {
            rest.push_back({part, i});
        }
    }
    return rest;
}

}  // namespace fluvial::distribute
