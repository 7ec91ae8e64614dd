// SPDX-License-Identifier: Apache-2.0
/// Data of a step that travels with the message that announces it, so that a reader on another host
/// does not wait for what it asks for: everything of a small step, and of a larger one what it has
/// read of the step before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/region.hpp"
#include "fluvial/stage/step_decoder.hpp"

namespace fluvial::stage {

/// All of a step of no more bytes, or of no more than describe it.
inline constexpr std::uint64_t small_step_bytes = std::uint64_t{64} << 10;
/// No more of a larger one: beyond, to ask costs little.
inline constexpr std::uint64_t parts_bytes_max = std::uint64_t{4} << 20;
/// The limit for a step that is described by so many bytes.
constexpr std::uint64_t whole_step_bytes(std::uint64_t bytes_of_records) {
    return std::min(std::max(small_step_bytes, bytes_of_records), parts_bytes_max);
}
/// Parts of no more bytes lie in the message itself, others behind it ...
inline constexpr std::uint64_t part_inside_max = 4096;
/// ... where each begins at a multiple of so many bytes.
inline constexpr std::uint64_t part_alignment = 64;

/// Where the chunks of a step lie in its data when all of that comes along: those of each rank in
/// the order of its record, each at a multiple of its items' size or, when it is large, of
/// `part_alignment`.
class DataAlong {
  public:
    struct Piece {
        std::uint64_t at;
        std::uint64_t bytes;
    };
    /// Of steps of that layout, as one decoder counts them. Costs nothing when it is the one
    /// before.
    void follow(const StepForm& form);
    /// By chunk.
    std::span<const Piece> pieces() const { return pieces_; }
    /// Of all chunks, with the gaps between them.
    std::uint64_t bytes() const { return bytes_; }

  private:
    std::uint64_t layout_ = 0;
    std::vector<Piece> pieces_;
    std::uint64_t bytes_ = 0;
};
/// Calls `visit` with each chunk, in that order.
template <class Visit>
void for_each_chunk(const StepForm& form, Visit visit) {
    for (const RecordReader::Trail& trail : form.trails) {
        for (const RecordReader::Placed& placed : trail) {
            visit(placed.dataset->chunks[placed.chunk]);
        }
    }
}

struct PartAlong {
    /// Which chunk of the step: datasets in the order of their names, chunks in that of their
    /// record.
    std::uint32_t chunk = 0;
    Region region;  ///< of that chunk, lest it is another one
    Region box;     ///< in the chunk's own coordinates
    friend bool operator==(const PartAlong&, const PartAlong&) = default;
};

void put(ByteWriter& out, const std::vector<PartAlong>& parts);
/// Throws Error for what makes no sense.
std::vector<PartAlong> get_parts(ByteReader& in);
void put(ByteWriter& out, const Region& region);
Region get_region(ByteReader& in);

/// What a reader has read of a step.
class PartsRead {
  public:
    void note(std::uint32_t chunk, const Region& region, const Region& box);
    /// What it will want of the next one: a box a chunk, where that holds no more than was read.
    std::vector<PartAlong> parts() const;

  private:
    struct Part {
        Region region;
        Region hull;   ///< of all boxes that were read
        Index volume;  ///< of these
    };
    std::map<std::uint32_t, Part> parts_;
};

}  // namespace fluvial::stage
