// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/subset.hpp"

#include <algorithm>
#include <numeric>

namespace fluvial::distribute {
namespace {

Index plus(Index a, Index b) {
    Index sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? Bounds::none : sum;
}

}  // namespace

void Subset::add(const Request& whole, const Piece& piece) {
    const WrittenChunk& chunk = whole.chunks[piece.chunk];
    request.chunks.push_back({piece.region, chunk.rank, chunk.place});
    chunks.push_back(piece.chunk);
}

Subset with_all_readers(const Request& whole) {
    Subset subset{{{}, whole.readers, whole.element_bytes}, {}, {}};
    subset.readers.resize(whole.readers.size());
    std::iota(subset.readers.begin(), subset.readers.end(), 0);
    return subset;
}

void append(Distribution& to, const Distribution& part, const Subset& subset) {
    for (const auto& [reader, piece] : part.assigned) {
        to.assigned.push_back({subset.readers[static_cast<std::size_t>(reader)],
                               {piece.region, subset.chunks[piece.chunk]}});
    }
    for (const Piece& piece : part.left) {
        to.left.push_back({piece.region, subset.chunks[piece.chunk]});
    }
    for (const Piece& piece : part.discarded) {
        to.discarded.push_back({piece.region, subset.chunks[piece.chunk]});
    }
}

Distribution complete(const Request& whole, Distribution made, const Strategy& fallback) {
    if (made.left.empty()) {
        return made;
    }
    Subset subset = with_all_readers(whole);
    for (const Piece& piece : made.left) {
        subset.add(whole, piece);
    }
    made.left.clear();
    append(made, fallback.assign(subset.request), subset);
    return made;
}

Bounds beside(const Bounds& a, const Bounds& b) {
    return {std::max(a.elements_max, b.elements_max), plus(a.pieces_max, b.pieces_max),
            std::max(a.partners_max, b.partners_max)};
}

Bounds after(const Bounds& a, const Bounds& b) {
    return {plus(a.elements_max, b.elements_max), plus(a.pieces_max, b.pieces_max),
            plus(a.partners_max, b.partners_max)};
}

}  // namespace fluvial::distribute
