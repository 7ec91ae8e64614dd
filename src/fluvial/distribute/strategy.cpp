// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/strategy.hpp"

#include <limits>

#include "fluvial/distribute/overlap.hpp"

namespace fluvial::distribute {
namespace {

void check_chunks(const Request& request) {
    const int ndim = request.chunks.empty() ? 0 : request.chunks.front().region.ndim();
    for (std::size_t i = 0; i < request.chunks.size(); ++i) {
        const Region& region = request.chunks[i].region;
        if (region.offset.size() != ndim || region.extent.size() != ndim) {
            throw InvalidArgument(Problem{text("chunk ", i, " has other dimensions than the first"),
                                          text(region), text(ndim, " entries in offset and extent"),
                                          "Distribute the chunks of one dataset at a time"});
        }
        region.volume();  // refuses what is negative or too large
        for (int axis = 0; axis < ndim; ++axis) {
            if (region.offset[axis] < 0 ||
                region.extent[axis] > std::numeric_limits<Index>::max() - region.offset[axis]) {
                throw InvalidArgument(Problem{text("chunk ", i, " ends beyond 64 bits"),
                                              text(region), "0 or more, and below 2^63", ""});
            }
        }
    }
}

/// The request without empty chunks and overlaps, and where each chunk of it comes from.
struct Prepared {
    Request request;
    std::vector<std::size_t> origin;
};

Prepared prepare(const Request& request) {
    std::vector<Region> regions;
    regions.reserve(request.chunks.size());
    for (const WrittenChunk& chunk : request.chunks) {
        regions.push_back(chunk.region);
    }
    const auto parts = last_written(regions);
    Prepared prepared{{{}, request.readers, request.element_bytes}, {}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (const Region& part : parts[i]) {
            prepared.request.chunks.push_back(
                {part, request.chunks[i].rank, request.chunks[i].place});
            prepared.origin.push_back(i);
        }
    }
    elements_of(prepared.request);
    return prepared;
}

[[noreturn]] void throw_not_once(const Strategy& strategy, const std::string& what,
                                 const std::string& seen) {
    throw Error(Problem{text("the strategy ", strategy.describe(), " ", what), seen,
                        "each element of each chunk once", "Correct the strategy"});
}

/// Every element once: all pieces lie in their chunks, none overlap, and the elements sum up.
void check_once(const Strategy& strategy, const Request& request, const Distribution& made) {
    std::vector<Region> regions;
    regions.reserve(made.assigned.size() + made.left.size() + made.discarded.size());
    __int128 elements = 0;
    const auto look_at = [&](const Piece& piece) {
        if (piece.chunk >= request.chunks.size() ||
            piece.region.offset.size() != piece.region.extent.size() ||
            !contains(request.chunks[piece.chunk].region, piece.region)) {
            throw_not_once(strategy, "returned a piece that is not in its chunk",
                           text("chunk ", piece.chunk, ", ", piece.region));
        }
        elements += piece.region.volume();
        regions.push_back(piece.region);
    };
    for (const auto& [reader, piece] : made.assigned) {
        if (reader < 0 || static_cast<std::size_t>(reader) >= request.readers.size()) {
            throw_not_once(strategy, "named a reader that does not exist", text(reader));
        }
        look_at(piece);
    }
    for (const std::vector<Piece>* pieces : {&made.left, &made.discarded}) {
        for (const Piece& piece : *pieces) {
            look_at(piece);
        }
    }
    if (const auto twice = overlapping(regions); !twice.empty()) {
        throw_not_once(strategy, "assigned elements twice",
                       text(regions[twice.front().first], " and ", regions[twice.front().second]));
    }
    if (elements != elements_of(request)) {
        throw_not_once(
            strategy, "did not return every element",
            text(static_cast<Index>(elements), " of ", elements_of(request), " elements"));
    }
}

void check_none_left(const Strategy& strategy, const Request& request, const Distribution& made) {
    if (made.left.empty()) {
        return;
    }
    Index elements = 0;
    for (const Piece& piece : made.left) {
        elements += piece.region.volume();
    }
    const Piece& first = made.left.front();
    const WrittenChunk& chunk = request.chunks[first.chunk];
    throw Error(Problem{
        text("the strategy ", strategy.describe(), " leaves elements without a reader"),
        text(elements, " elements in ", made.left.size(), " pieces, the first at ", first.region,
             " of rank ", chunk.rank, " (place: ", text_of(chunk.place), ")"),
        "a reader for each element",
        "Name a fallback, as in by-host(binpacking, fallback=hyperslabs), or fallback=discard to "
        "do without them"});
}

}  // namespace

Bounds Strategy::bounds(const Request&) const {
    return {};
}

Distribution assign(const Request& request, const Strategy& strategy) {
    if (request.readers.empty()) {
        throw InvalidArgument(
            Problem{"there is no reader to distribute to", "no reader", "1 or more", ""});
    }
    check_chunks(request);
    const Prepared prepared = prepare(request);
    Distribution made = strategy.assign(prepared.request);
    check_once(strategy, prepared.request, made);
    check_none_left(strategy, prepared.request, made);
    for (Assignment& assignment : made.assigned) {
        assignment.piece.chunk = prepared.origin[assignment.piece.chunk];
    }
    for (Piece& piece : made.discarded) {
        piece.chunk = prepared.origin[piece.chunk];
    }
    return made;
}

Index elements_of(const Request& request) {
    Index elements = 0;
    for (const WrittenChunk& chunk : request.chunks) {
        if (__builtin_add_overflow(elements, chunk.region.volume(), &elements)) {
            throw InvalidArgument(Problem{"more elements than 64 bits can count",
                                          text(chunk.region),
                                          "fewer than 2^63 in all chunks together", ""});
        }
    }
    return elements;
}

Index fair_share(Index elements, std::size_t readers) {
    const Index count = static_cast<Index>(readers);
    return elements / count + (elements % count == 0 ? 0 : 1);
}

void give(Distribution& to, int reader, const Region& region, std::size_t chunk) {
    if (!region.empty()) {
        to.assigned.push_back({reader, {region, chunk}});
    }
}

}  // namespace fluvial::distribute
