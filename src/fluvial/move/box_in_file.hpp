// SPDX-License-Identifier: Apache-2.0
/// Where the bytes of a box of a dataset lie in a file that has the dataset row by row. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fluvial/describe/region.hpp"

namespace fluvial::move {

/// The box is known by its bytes in their order in the file, which is also that of the box's own
/// elements, row-major; so what it has in any range of the file is a range of these.
class BoxInFile {
  public:
    /// `begin`: the byte of the file at which the dataset begins.
    BoxInFile(std::uint64_t begin, const Coordinates& shape, std::size_t element_bytes,
              const Region& box);

    std::uint64_t bytes() const { return pieces_ * piece_bytes_; }
    /// That lie apart in the file, unless the box is one with another.
    std::uint64_t pieces() const { return pieces_; }
    /// The bytes of the file at which it begins, and behind its last one; it has some.
    std::uint64_t first() const { return place_of(0); }
    std::uint64_t end() const { return place_of(pieces_ - 1) + piece_bytes_; }
    /// How many of its bytes lie before a byte of the file. A few operations an axis.
    std::uint64_t before(std::uint64_t place) const;
    /// Where the bytes first to last of the box, one at least, begin in the file, if they lie there
    /// in one piece.
    std::optional<std::uint64_t> place_of_one(std::uint64_t first, std::uint64_t last) const {
        const std::uint64_t piece = first / piece_bytes_;
        return (last - 1) / piece_bytes_ == piece
                   ? std::optional(place_of(piece) + first % piece_bytes_)
                   : std::nullopt;
    }
    /// Calls `visit(place in the file, bytes)` for the bytes first to last of the box, piece by
    /// piece.
    template <class Visit>
    void each_piece(std::uint64_t first, std::uint64_t last, Visit&& visit) const {
        while (first < last) {
            const std::uint64_t piece = first / piece_bytes_;
            std::uint64_t inside = first % piece_bytes_;
            std::uint64_t begin = place_of(piece);
            // Along the last axis pieces lie at equal distances.
            for (std::uint64_t more = row_ - piece % row_; more > 0 && first < last; --more) {
                const std::uint64_t bytes = std::min(piece_bytes_ - inside, last - first);
                visit(begin + inside, bytes);
                first += bytes;
                begin += distance_;
                inside = 0;
            }
        }
    }

  private:
    std::uint64_t place_of(std::uint64_t piece) const;

    std::uint64_t begin_, pieces_ = 1, piece_bytes_ = 0;
    Coordinates offset_, extent_, strides_;  ///< of the axes along which pieces lie apart
    std::uint64_t inner_offset_ = 0;         ///< of a piece in what one index of these axes has
    std::uint64_t row_ = 1, distance_ = 0;   ///< pieces along the last of them, and their distance
};

}  // namespace fluvial::move
