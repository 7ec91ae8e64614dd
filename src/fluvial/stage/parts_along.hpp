// SPDX-License-Identifier: Apache-2.0
/// Parts of a step that travel with the message that announces it, so that a reader on another host
/// does not wait for what it asks for: everything of a small step, and of a larger one what it has
/// read of the step before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial::stage {

/// All of a step of no more bytes.
inline constexpr std::uint64_t small_step_bytes = std::uint64_t{64} << 10;
/// No more of a larger one: beyond, to ask costs little.
inline constexpr std::uint64_t parts_bytes_max = std::uint64_t{4} << 20;
/// Parts of no more bytes lie in the message itself, others behind it ...
inline constexpr std::uint64_t part_inside_max = 4096;
/// ... where each begins at a multiple of so many bytes.
inline constexpr std::uint64_t part_alignment = 64;

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
