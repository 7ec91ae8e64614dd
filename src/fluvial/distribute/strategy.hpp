// SPDX-License-Identifier: Apache-2.0
/// The one interface of all strategies: which reading rank gets which part of what was written.
///
///     Request request;                      chunks with source rank and place; places of readers
///     auto strategy = make_strategy("by-host(binpacking, fallback=hyperslabs)");
///     Distribution d = assign(request, *strategy);
///
/// Poeschel et al., "Transitioning from file-based HPC workflows to streaming data pipelines with
/// openPMD and ADIOS2" (2021), section 3, has the properties that a distribution may have:
/// locality, balance, alignment, read constraints. What a strategy promises of them is its Bounds,
/// and the conformance suite holds it to that. Everything here is local and the same on all ranks
/// that are given the same request.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/describe/region.hpp"
#include "fluvial/distribute/place.hpp"

namespace fluvial::distribute {

struct WrittenChunk {
    Region region;  ///< global coordinates
    int rank = 0;   ///< of the writer
    Place place;    ///< of the writer
};

/// What is to be distributed. The readers are ranks 0, 1, … of the reading job.
struct Request {
    std::vector<WrittenChunk> chunks;  ///< of one dataset
    std::vector<Place> readers;
    std::size_t element_bytes = 1;
};

/// A part of a chunk.
struct Piece {
    Region region;          ///< global coordinates, inside the chunk
    std::size_t chunk = 0;  ///< position in Request::chunks

    friend bool operator==(const Piece&, const Piece&) = default;
};

struct Assignment {
    int reader = 0;
    Piece piece;

    friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct Distribution {
    std::vector<Assignment> assigned;
    std::vector<Piece> left;       ///< that no reader was found for
    std::vector<Piece> discarded;  ///< that a strategy dropped on purpose

    friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// What a strategy promises for a request, whatever the sizes of the chunks.
struct Bounds {
    static constexpr Index none = std::numeric_limits<Index>::max();

    Index elements_max = none;  ///< of one reader (balance)
    Index pieces_max = none;    ///< of all readers together (alignment)
    Index partners_max = none;  ///< source ranks of one reader (locality)
};

/// Immutable, shareable between threads.
class Strategy {
  public:
    virtual ~Strategy() = default;
    /// Name and options, in the words that make_strategy() takes: equal exactly where strategies
    /// are, so that ranks can compare them.
    virtual std::string describe() const = 0;
    /// Of a request as assign() has prepared it: at least one reader, chunks of equal dimensions,
    /// none empty, no two with a common element. Each element of each chunk is in `assigned`,
    /// `left` or `discarded`, once.
    virtual Distribution assign(const Request& request) const = 0;
    /// For such a request.
    virtual Bounds bounds(const Request& request) const;
};

using StrategyPtr = std::shared_ptr<const Strategy>;

/// Distributes by `strategy`. Chunks may be empty, and overlap: the one that comes later supplies
/// the elements of both, as when reading. Costs what the strategy costs, and twice the search for
/// overlaps (O(c log c) for c chunks and pieces that form a grid). Throws InvalidArgument (no
/// reader; chunks of different dimensions or beyond 64 bits), Error where the strategy leaves
/// elements without a reader, or assigns some twice or not at all, which a strategy of a user's may
/// do.
Distribution assign(const Request& request, const Strategy& strategy);

/// Number of elements of all chunks. Throws InvalidArgument beyond 63 bits.
Index elements_of(const Request& request);

/// The elements of a fair share: `elements` / `readers`, rounded up.
Index fair_share(Index elements, std::size_t readers);

/// Assigns `piece` of the request to `reader`; what is empty is passed over.
void give(Distribution& to, int reader, const Region& region, std::size_t chunk);

}  // namespace fluvial::distribute
